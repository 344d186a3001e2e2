"""Rules over masks, as lines of a file."""

import pytest

from enstruct.errors import ConfigError, ParseError
from enstruct.rules import Soft
from enstruct.rules.mask_text import parse_mask_rule, read_mask_rules
from enstruct.rules.masks import Connected, Size, Within

LINES = {
    "connected 1": Connected(1),
    "Connected 255: 3 pieces": Connected(255, 3),
    "size 1: 5% to 40%": Size(1, 0.05, 0.4),
    "size 2 : 0.5 % to 100 %": Size(2, 0.005, 1.0),
    "within 1: rows 10% to 90%, columns 0% to 50%": Within(1, 0.1, 0.0, 0.9, 0.5),
    "within 1: rows 0% to 0%": Within(1, 0.0, 0.0, 0.0, 1.0),
    "within 1: columns 20% to 50%": Within(1, 0.0, 0.2, 1.0, 0.5),
    "soft 2.5: connected 1": Soft(Connected(1), 2.5),
}


@pytest.mark.parametrize("line", LINES)
def test_lines(line):
    assert parse_mask_rule(line) == LINES[line]


@pytest.mark.parametrize(
    "line", ["connected", "size 1: 5 to 40", "within 1:", "within 1: rows 5%", "size 1: 1.2.3% to 4%", "holes 1"]
)
def test_other_lines_are_refused_with_their_number(line, tmp_path):
    with pytest.raises(ConfigError):
        parse_mask_rule(line)
    (tmp_path / "rules.txt").write_text(f"# of horses\nconnected 1\n{line}\n")
    with pytest.raises(ParseError, match="line 3"):
        read_mask_rules(tmp_path / "rules.txt")
    (tmp_path / "rules.txt").write_text("# of horses\nconnected 1\n")
    assert read_mask_rules(tmp_path / "rules.txt") == [Connected(1)]


def test_yaml(tmp_path):
    (tmp_path / "rules.yaml").write_text(
        '- connected 1\n- size 1: 5% to 40%\n- "within 1: rows 0% to 0%"\n- connected 255: 3 pieces\n'
    )
    assert read_mask_rules(tmp_path / "rules.yaml") == [
        Connected(1),
        Size(1, 0.05, 0.4),
        Within(1, 0.0, 0.0, 0.0, 1.0),
        Connected(255, 3),
    ]
    (tmp_path / "rules.yaml").write_text("- {connected: 1, size: 2}\n")
    with pytest.raises(ParseError, match="write it as a line"):
        read_mask_rules(tmp_path / "rules.yaml")
