"""Classes as their source says they are."""

import inspect
from typing import get_type_hints

import pytest

from enstruct import estimators
from enstruct.cli.signatures import class_of

HOMES = {"EnergyMultiLabelClassifier": "multilabel", "EnergySequenceTagger": "tagger", "EnergySegmenter": "segmenter"}


@pytest.mark.parametrize("name", HOMES)
def test_a_stand_in_is_declared_as_the_class_is(name):
    theirs, ours = getattr(estimators, name), class_of("enstruct", f"estimators.{HOMES[name]}", name)
    expected, declared = (inspect.signature(each).parameters.values() for each in (theirs, ours))
    assert [(p.name, p.kind, p.default) for p in declared] == [(p.name, p.kind, p.default) for p in expected]
    assert get_type_hints(ours.__init__) == get_type_hints(theirs.__init__)
    assert (ours.__name__, inspect.getdoc(ours)) == (name, inspect.getdoc(theirs))


def test_what_is_not_in_the_source():
    with pytest.raises(LookupError, match="no Nonsense in the source"):
        class_of("enstruct", "estimators.tagger", "Nonsense")
    with pytest.raises(LookupError, match="no __init__"):
        class_of("enstruct", "data.tag_schemes", "Span")
