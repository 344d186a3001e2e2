"""Rules over tags as people write them: a text file with a rule a line, or a YAML list of such lines.

    # lines that begin with # say nothing
    B-LOC never follows B-PER             tags as in training
    I-X only follows: B-X, I-X
    starts: O, B-PER                      the tags that sentences may begin with; ends: those that they may end with
    at most one: PER                      a sentence
    always PER: Ada Lovelace; Ada         where one of these phrases stands it is a span of the type
    never PER: Lovelace Street            no token of it is part of one
    always LOC in places.txt              the phrases of a file, a line each, found beside the rules; "never ... in" likewise
    soft 0.5: at most one: PER            a preference, of 0.5 nats each time that it is broken; of any of these

Names with blanks, a comma, a colon or a semicolon in them are put in double quotes. In YAML several tags or phrases may be a
list, ``- starts: [O, B-PER]``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from enstruct.errors import ConfigError, ParseError, shown
from enstruct.rules.tags import AtMostOnce, Ends, Gazetteer, NeverFollows, OnlyFollows, Starts
from enstruct.rules.text import line_of, read_rule_file, read_text, soft_of

FORMS = (
    "a never follows b; a only follows: b, c; starts: a, b; ends: a, b; at most one: T; always T: phrase; never T in FILE; "
    "soft 0.5: rule"
)
NAME = r'("[^"]+"|[^\s",:;]+)'


def read_tag_rules(path: Path | str) -> list[Any]:
    """The rules of a text file, or of a .yaml or .yml one. ParseError, with the line, for what is none; DataError for no file."""
    path = Path(path)
    return read_rule_file(path, lambda item: parse_tag_rule(line_of(item), path.parent))


def parse_tag_rule(line: str, folder: Path | str = ".") -> Any:
    """The rule that a line says, files of phrases being below ``folder``. ConfigError for a line that says none."""
    line = line.strip()
    if soft := soft_of(line, lambda rule: parse_tag_rule(rule, folder)):
        return soft
    if found := re.fullmatch(rf"{NAME}\s+never\s+follows\s*:?\s*{NAME}", line, re.IGNORECASE):
        return NeverFollows(_bare(found[2]), _bare(found[1]))
    if found := re.fullmatch(rf"{NAME}\s+only\s+follows\s*:?\s*(.+)", line, re.IGNORECASE):
        return OnlyFollows(_bare(found[1]), _names(found[2]))
    if found := re.fullmatch(r"(starts|ends)\s*:\s*(.+)", line, re.IGNORECASE):
        return (Starts if found[1].lower() == "starts" else Ends)(_names(found[2]))
    if found := re.fullmatch(rf"at\s+most\s+one\s*:\s*{NAME}", line, re.IGNORECASE):
        return AtMostOnce(_bare(found[1]))
    if found := re.fullmatch(rf"(always|never)\s+{NAME}\s*(:|\sin\s)\s*(.+)", line, re.IGNORECASE):
        phrases = found[4].split(";") if found[3] == ":" else _of_file(Path(folder) / found[4].strip())
        phrases = [" ".join(phrase.split()) for phrase in phrases if phrase.strip()]
        if phrases:
            return Gazetteer(_bare(found[2]), phrases, must=found[1].lower() == "always")
    raise ConfigError(f"{shown(line)} is no rule over tags; these are: {FORMS}.")


def _of_file(path: Path) -> list[str]:
    try:
        return read_text(path).splitlines()
    except ParseError as error:
        raise ConfigError(str(error)) from None


def _names(text: str) -> list[str]:
    if not re.fullmatch(rf"\s*{NAME}\s*(,\s*{NAME}\s*)*", text):
        raise ConfigError(f"{shown(text)} are no names with commas between them. Rules over tags: {FORMS}.")
    return [_bare(found[0]) for found in re.finditer(NAME, text)]


def _bare(name: str) -> str:
    return name.strip('"')
