import pytest

from enstruct.errors import DataError, ParseError
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Implies, Not, Requires, Soft, read_rules

TEXT = """# of photographs
beach -> sea
a and not b -> c and d

exclude: day, night
At most 2: red, "green, or so", blue
at least 1: x, y
exactly 1: x, not y
sunset requires: sky, sea
soft 2.5: urban -> not field
"rock and roll" -> music
"""
RULES = [
    Implies(("beach",), ("sea",)),
    Implies(("a", Not("b")), ("c", "d")),
    Excludes("day", "night"),
    AtMost(2, ("red", "green, or so", "blue")),
    AtLeast(1, ("x", "y")),
    Exactly(1, ("x", Not("y"))),
    Requires("sunset", ("sky", "sea")),
    Soft(Implies(("urban",), (Not("field"),)), 2.5),
    Implies(("rock and roll",), ("music",)),
]
YAML = """
- beach -> sea
- {if: [a, not b], then: [c, d]}
- exclude: [day, night]
- {at most: 2, of: [red, "green, or so", blue]}
- {at least: 1, of: [x, y]}
- {exactly: 1, of: [x, {not: y}]}
- {label: sunset, requires: [sky, sea]}
- {if: urban, then: not field, weight: 2.5}
- '"rock and roll" -> music'
"""


def test_a_text_file(tmp_path):
    (tmp_path / "rules.txt").write_text(TEXT)
    assert read_rules(tmp_path / "rules.txt") == RULES


def test_a_yaml_file(tmp_path):
    (tmp_path / "rules.yaml").write_text(YAML)
    assert read_rules(tmp_path / "rules.yaml") == RULES
    (tmp_path / "none.yml").write_text("# nothing\n")
    assert read_rules(tmp_path / "none.yml") == []


@pytest.mark.parametrize(
    "line",
    [
        "beach",
        "a -> b -> c",
        "a ->",
        "exclude:",
        "at most two: a, b",
        "a requires: ",
        "soft: a -> b",
        "soft 0: a -> b",
        "a,b",
        "exclude: c",
        "at most 3: a, b",
        "a -> a",
    ],
)
def test_a_line_that_is_no_rule_is_named(tmp_path, line):
    (tmp_path / "rules.txt").write_text(f"# first\n{line}\n")
    with pytest.raises(ParseError, match="line 2"):
        read_rules(tmp_path / "rules.txt")


@pytest.mark.parametrize(
    "text", ["a: [", "a: b", "- {exclude: [a, b], of: c}", "- 3", "- {at most: 1, at least: 1, of: [a]}", "- {weight: 2}",
             "- {exclude: [a, b], weight: x}", "- {if: {not: [a]}, then: b}", "- soft 0.5: a -> b", "- {label: [a], requires: b}"]
)  # fmt: skip
def test_yaml_that_is_no_rule_is_refused(tmp_path, text):
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(ParseError):
        read_rules(tmp_path / "rules.yaml")


@pytest.mark.parametrize(("text", "message"), [
    ("- " + "[" * 5000, "lists within lists"),
    ("- 2026-13-45", "is no rule"),
    ("- &a [x]\n- {exclude: [a, b], weight: [" + "*a, " * 10 + "*a]}", r"line 2.*references \(\*name\) are not read"),
])  # fmt: skip
def test_yaml_that_would_take_all_memory_is_refused(tmp_path, text, message):
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(ParseError, match=message):
        read_rules(tmp_path / "rules.yaml")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_rules("a\0b.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read_rules(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(ParseError, match="UTF-8"):
        read_rules(tmp_path / "bytes.txt")


def test_names_that_are_no_labels_are_refused_with_their_line(tmp_path):
    """Where the labels are known; else anything is a name."""
    path = tmp_path / "rules.txt"
    path.write_text("beach -> sea\n\nexclude: day, nihgt\n")
    assert len(read_rules(path)) == 2
    with pytest.raises(ParseError, match=r"rules\.txt, line 3: Unknown label in the rule .* 'nihgt'\. Did you mean 'night'\?"):
        read_rules(path, ["beach", "sea", "day", "night"])


def test_names_of_yaml_are_as_they_are_written(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text("- exclude: [2019, 007]\n- {at most: 2, of: [yes, no, 1.0], weight: 2.5}\n- {if: null, then: [not no]}\n")
    assert read_rules(path) == [
        Excludes("2019", "007"),
        Soft(AtMost(2, ("yes", "no", "1.0")), 2.5),
        Implies(("null",), (Not("no"),)),
    ]
    path.write_text('- exclude: [2019, 2020]\n- "2020 -> not 2021"\n')
    assert read_rules(path, [2019, 2020, 2021]) == [Excludes(2019, 2020), Implies((2020,), (Not(2021),))]
    path.write_text("- {at most: two, of: [a, b]}\n")
    with pytest.raises(ParseError, match="whole number"):
        read_rules(path)
