"""Settings that do nothing for a method."""

import pytest

from enstruct.cli.training import OF_PERCEPTRON, OF_TRAINING, idle_parameters
from enstruct.methods import METHODS, TAG_METHODS

CASES = {
    "extra-trees": OF_TRAINING,
    "seal-nce": set(),
    "seal-margin": set(),
    "binary-relevance": OF_TRAINING,
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_method_has_no_use_for(name):
    assert idle_parameters(METHODS[name]) == CASES[name]


def test_a_row_that_fixes_the_encoder():
    for name, method in METHODS.items():
        assert {*method.encoder} <= idle_parameters(method), name
        assert idle_parameters(method) >= OF_PERCEPTRON or method.encoder.get("layers") != 0
    assert "hidden" not in idle_parameters(TAG_METHODS["crf"])
