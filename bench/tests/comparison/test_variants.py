"""Rows beside the library's own."""

import pytest

from enstruct.errors import ConfigError
from enstruct.methods.masks import MASK_METHODS
from enstruct.methods.tags import TAG_METHODS
from enstruct_bench.comparison.comparisons import COMPARISONS
from enstruct_bench.comparison.variants import VARIANTS


def test_no_variant_has_a_rows_name_and_each_says_its_own():
    for task, rows in VARIANTS.items():
        assert not set(rows) & set(COMPARISONS[task].task.methods)
        assert all(row.name == name for name, row in rows.items())


def test_a_variant_differs_by_what_its_name_says():
    tags, masks, labels = VARIANTS["tags"], VARIANTS["masks"], VARIANTS["labels"]
    assert labels["spen-convex"].energy["convex"]
    assert labels["spen-two-layers"].energy["layers"] == 2
    assert labels["spen-conditional"].energy["terms"] == ("local", "conditional")
    assert tags["infnet-tag-lm"].energy["terms"] == (*TAG_METHODS["infnet"].energy["terms"], "tag-lm")
    assert tags["infnet-retuned"].stages[:-1] == TAG_METHODS["infnet"].stages
    assert tags["infnet-retuned"].stages[-1].retune
    assert tags["infnet+-stacked"].negatives.kind == "stacked"
    assert masks["seal-regression-s-potts"].energy["terms"] == (*MASK_METHODS["seal-regression-s"].energy["terms"], "potts")


def test_comparisons_take_them_by_name_and_know_no_others():
    tags = COMPARISONS["tags"]
    assert tags.row("infnet-skip") is VARIANTS["tags"]["infnet-skip"]
    assert tags.row("infnet") == "infnet"
    assert tags.goes_on("infnet-skip")
    COMPARISONS["labels"].check("spen-convex")
    assert COMPARISONS["labels"].make("spen-convex", 0, {}).method is VARIANTS["labels"]["spen-convex"]
    assert tags.make("infnet-conv", 0, {}).method is VARIANTS["tags"]["infnet-conv"]
    with pytest.raises(ConfigError, match="infnet"):
        tags.check("infnet-potts")
