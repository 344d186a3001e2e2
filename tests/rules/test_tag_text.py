"""Rules over tags, as lines of a file."""

import pytest

from enstruct.errors import ConfigError, DataError, ParseError
from enstruct.rules import Soft
from enstruct.rules.tag_text import parse_tag_rule, read_tag_rules
from enstruct.rules.tags import AtMostOnce, Ends, Gazetteer, NeverFollows, OnlyFollows, Starts

LINES = {
    "B-LOC never follows B-PER": NeverFollows("B-PER", "B-LOC"),
    '"a b" never follows: ":"': NeverFollows(":", "a b"),
    "I-X only follows: B-X, I-X": OnlyFollows("I-X", ["B-X", "I-X"]),
    "I-X Only follows B-X": OnlyFollows("I-X", ["B-X"]),
    "starts: O, B-PER": Starts(["O", "B-PER"]),
    "ENDS : O": Ends(["O"]),
    "at most one: PER": AtMostOnce("PER"),
    "always PER: Ada  Lovelace; Ada": Gazetteer("PER", ["Ada Lovelace", "Ada"]),
    "soft 0.5: at most one: PER": Soft(AtMostOnce("PER"), 0.5),
    "SOFT 2: never PER: Ada": Soft(Gazetteer("PER", ["Ada"], must=False), 2.0),
    "never PER: Lovelace Street ;": Gazetteer("PER", ["Lovelace Street"], must=False),
}


@pytest.mark.parametrize("line", LINES)
def test_lines(line):
    assert parse_tag_rule(line) == LINES[line]


def test_files(tmp_path):
    (tmp_path / "places.txt").write_text("New  York\n\nLondon\n")
    (tmp_path / "rules.txt").write_text("# what is known\n\nalways LOC in places.txt\nat most one: LOC\n")
    assert read_tag_rules(tmp_path / "rules.txt") == [Gazetteer("LOC", ["New York", "London"]), AtMostOnce("LOC")]


@pytest.mark.parametrize(
    "line",
    [
        "B-LOC after O",
        "starts: O B-PER",
        "at most one: a, b",
        "always PER: ;",
        "I-X only follows: a,, b",
        "never follows O",
        "soft: ends: O",
        "soft 0: ends: O",
        "soft 1: soft 2: ends: O",
        "soft 1: " * 3000 + "ends: O",
    ],
)
def test_other_lines_are_refused_with_their_number(line, tmp_path):
    with pytest.raises(ConfigError):
        parse_tag_rule(line)
    (tmp_path / "rules.txt").write_text(f"starts: O\n{line}\n")
    with pytest.raises(ParseError, match="line 2") as found:
        read_tag_rules(tmp_path / "rules.txt")
    assert len(str(found.value)) <= 300 + len(str(tmp_path))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt"):
        read_tag_rules(tmp_path / "none.txt")
    (tmp_path / "rules.txt").write_text("always PER in names.txt\n")
    with pytest.raises(DataError, match=r"names\.txt"):
        read_tag_rules(tmp_path / "rules.txt")


def test_yaml(tmp_path):
    (tmp_path / "names.txt").write_text("Ada\nAda Lovelace\n")
    (tmp_path / "rules.yml").write_text(
        "- B-LOC never follows B-PER\n- starts: [O, B-PER]\n- ends: O, B-LOC\n- at most one: PER\n"
        "- soft 1.5: {always PER: [Ada Lovelace, Ada]}\n- never LOC in names.txt\n- I-PER only follows: [B-PER]\n"
    )
    assert read_tag_rules(tmp_path / "rules.yml") == [
        NeverFollows("B-PER", "B-LOC"),
        Starts(["O", "B-PER"]),
        Ends(["O", "B-LOC"]),
        AtMostOnce("PER"),
        Soft(Gazetteer("PER", ["Ada Lovelace", "Ada"]), 1.5),
        Gazetteer("LOC", ["Ada", "Ada Lovelace"], must=False),
        OnlyFollows("I-PER", ["B-PER"]),
    ]
    (tmp_path / "rules.yml").write_text("- [O, B-PER]\n")
    with pytest.raises(ParseError, match="write it as a line"):
        read_tag_rules(tmp_path / "rules.yml")


def test_names_with_commas_stand_in_lists_too(tmp_path):
    assert parse_tag_rule('starts: ",", NN') == Starts([",", "NN"])
    assert parse_tag_rule('"," only follows: NN, ","') == OnlyFollows(",", ["NN", ","])
    (tmp_path / "r.yaml").write_text('- starts: [",", VB]\n- ends: [NO, "."]\n')
    assert read_tag_rules(tmp_path / "r.yaml") == [Starts([",", "VB"]), Ends(["NO", "."])]


def test_phrases_of_yaml_lists_are_phrases_each_and_as_they_are_written(tmp_path):
    lines = "- Always PER: [Ada Lovelace, Ada]\n- \"soft 0.5: always PER\": [Ada, Bob]\n- never TIME: [12:30, 007, 'a, b']\n"
    (tmp_path / "r.yaml").write_text(lines)
    assert read_tag_rules(tmp_path / "r.yaml") == [
        Gazetteer("PER", ["Ada Lovelace", "Ada"]),
        Soft(Gazetteer("PER", ["Ada", "Bob"]), 0.5),
        Gazetteer("TIME", ["12:30", "007", "a, b"], must=False),
    ]
