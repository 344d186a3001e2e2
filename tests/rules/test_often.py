"""Rules that data break often."""

import pytest

from enstruct.errors import DataError
from enstruct.rules.often import Count, check_seldom


def test_a_rule_may_be_broken_now_and_then():
    check_seldom([Count("a", 1, 1), Count("b", 5, 100), Count("c", 0, 0)], "rows", "mend them")
    with pytest.raises(DataError, match="6 of the 100 rows that it is about break the rule b: mend them"):
        check_seldom([Count("a", 1, 1), Count("b", 6, 100)], "rows", "mend them")
