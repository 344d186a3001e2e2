"""Rules as people write them: a text file with a rule a line, or a YAML list.

    # lines that begin with # say nothing
    beach -> sea                          rows with beach have sea; on both sides several joined by "and", each may be "not x"
    exclude: day, night                   at most one of them
    at most 2: red, green, blue           at least 1: ...          exactly 1: ...
    sunset requires: sky, sea             at least one of those behind the colon
    soft 2.5: urban -> not field          not binding; the number is its weight in nats

Names with a comma, a colon, a quote, "->" or " and " in them are put in double quotes. In YAML a rule is such a line as a string,
or a mapping: {if: beach, then: [sea, not field]}, {exclude: [day, night]}, {at most: 2, of: [...]}, {at least: 1, of: [...]},
{exactly: 1, of: [...]}, {label: sunset, requires: [sky, sea]}, each with weight: 2.5 where it does not bind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from enstruct.errors import ConfigError, DataError, ParseError, shown
from enstruct.rules.labels import AtLeast, AtMost, Exactly, Excludes, Implies, Not, Requires, inequalities_of, mapped
from enstruct.rules.soft import Soft
from enstruct.rules.system import label_number

COUNTED: dict[str, Callable[[int, Any], Any]] = {"at most": AtMost, "at least": AtLeast, "exactly": Exactly}
DEEPEST = 10
"""Brackets within brackets of YAML, of which rules need four: reading takes as long as their square."""
SOFT = re.compile(r"soft\s+([0-9.]+(?:[eE][-+]?\d+)?)\s*:\s*(.+)", re.IGNORECASE)
"""A weight in nats, and a rule."""
PHRASES = re.compile(r"(soft\s[^:]*:\s*)?(always|never)\b", re.IGNORECASE)
"""Of rules over tags that list phrases, which may hold commas."""
FORMS = "a -> b; exclude: a, b; at most 1: a, b; at least 1: a, b; exactly 1: a, b; a requires: b, c; soft 2: a -> b"


def read_rules(path: Path | str, names: Sequence[Any] | None = None) -> list[Any]:
    """The rules of a text file, or of a .yaml or .yml one. ParseError, with the line, for what is none and, of labels of these
    ``names``, for one of another label; DataError for no file."""
    return read_rule_file(Path(path), partial(_sound_rule, names=names))


def read_rule_file(path: Path, parse: Callable[[Any], Any]) -> list[Any]:
    """A rule a line, empty ones and those that begin with # aside, or an item of a YAML list. ParseError, with the line;
    DataError for no file."""
    if path.suffix.lower() in (".yaml", ".yml"):
        return _of_yaml(read_text(path), path, parse)
    lines = enumerate(read_text(path).splitlines(), 1)
    return [_at(path, number, parse, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def read_text(path: Path) -> str:
    """DataError for no file, ParseError for one that is not text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        if isinstance(error, UnicodeDecodeError):
            raise ParseError("this is no UTF-8 text.", path) from None
        raise DataError(f"The rules {shown(str(path), 100)} cannot be read ({getattr(error, 'strerror', error)}).") from None


def line_of(item: Any) -> str:
    """The line that an item of a YAML list says: a string, or what YAML makes of one with a colon, {starts: "O, B-PER"}, of which
    several values may be a list. ConfigError."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and len(item) == 1:
        ((key, value),) = item.items()
        if isinstance(value, dict):  # soft 0.5: {starts: [O, B-PER]}
            return f"{key}: {line_of(value)}"
        if not isinstance(value, list):
            return f"{key}: {value}"
        if PHRASES.match(key):
            return f"{key}: {'; '.join(value)}"
        return f"{key}: {', '.join(_quoted(one) if ',' in one else one for one in value)}"
    raise ConfigError(f"{shown(item)} is no rule: write it as a line, in quotes where it has a colon.")


def _quoted(name: str) -> str:
    return name if name.startswith('"') else f'"{name}"'


def _of_yaml(text: str, path: Path, parse: Callable[[Any], Any]) -> list[Any]:
    import yaml  # only here: most programs read none

    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ParseError("rules are no lists within lists within lists.", path, event.start_mark.line + 1)
            if isinstance(event, yaml.AliasEvent):  # some lines of them can stand for more than any memory holds
                raise ParseError("references (*name) are not read: write the rule out.", path, event.start_mark.line + 1)
        content = yaml.load(text, Loader=yaml.BaseLoader)  # all as it is written: 12:30, 007 and no are names too
    except ParseError:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # a date of month 13 is a ValueError
        mark = getattr(error, "problem_mark", None)
        raise ParseError("this is no YAML.", path, None if mark is None else mark.line + 1) from None
    if content is None:
        return []
    if not isinstance(content, list):
        raise ParseError("rules are a YAML list, one item a rule.", path)
    return [_at(path, None, parse, one) for one in content]


def _at(path: Path, line: int | None, parse: Callable[[Any], Any], what: Any) -> Any:
    try:
        return parse(what)
    except ConfigError as error:
        raise ParseError(str(error), path, line) from None


def _sound_rule(what: Any, names: Sequence[Any] | None = None) -> Any:
    """The rule of a line or a mapping. ConfigError also for one that none could be, whatever labels there are."""
    rule = parse_rule(what) if isinstance(what, str) else _of_mapping(what)
    if names is not None and not all(isinstance(name, str) for name in names):  # a file has texts alone
        by_text = {str(name): name for name in names}
        rule = mapped(rule, lambda name: by_text.get(str(name), name))
    numbers = {name: i for i, name in enumerate(names or ())}

    def number(name: Any) -> int:
        if names is not None:
            return label_number(numbers, rule, name)
        try:
            return numbers.setdefault(name, len(numbers))
        except TypeError:
            raise ConfigError(f"{shown(name)} is no label's name.") from None

    inequalities_of(rule, number)
    return rule


def parse_rule(line: str) -> Any:
    """The rule that a line says. ConfigError for a line that says none."""
    line = line.strip()
    if soft := soft_of(line, parse_rule):
        return soft
    if counted := re.fullmatch(r"(at\s+most|at\s+least|exactly)\s+(\d{1,9})\s*:\s*(.+)", line, re.IGNORECASE):
        return COUNTED[" ".join(counted[1].lower().split())](int(counted[2]), _names(counted[3], ","))
    if exclude := re.fullmatch(r"exclude\s*:\s*(.+)", line, re.IGNORECASE):
        return Excludes(*_names(exclude[1], ","))
    if requires := re.fullmatch(r"(.+?)\s+requires\s*:\s*(.+)", line, re.IGNORECASE):
        return Requires(_name(requires[1]), _names(requires[2], ","))
    sides = _split(line, "->")
    if len(sides) == 2:
        return Implies(*(tuple(map(_name, _split(side, " and "))) for side in sides))
    raise ConfigError(f"{shown(line)} is no rule; rules are: {FORMS}.")


def _of_mapping(content: Any) -> Any:
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ConfigError(f"{shown(content)} is no rule: write a line, as a string, or a mapping, as {{exclude: [a, b]}}.")
    rest = {key.lower().strip(): value for key, value in content.items()}
    weight = rest.pop("weight", None)
    match rest:
        case {"if": when, "then": then, **more} if not more:
            rule: Any = Implies(_of_yaml_names(when), _of_yaml_names(then))
        case {"exclude": labels, **more} if not more:
            rule = Excludes(*_of_yaml_names(labels))
        case {"label": label, "requires": labels, **more} if not more and not isinstance(label, list):
            rule = Requires(_of_yaml_names(label)[0], _of_yaml_names(labels))
        case {"of": labels, **more} if len(more) == 1 and next(iter(more)) in COUNTED:
            ((name, k),) = more.items()
            rule = COUNTED[name](int(k) if re.fullmatch(r"\d{1,9}", str(k)) else k, _of_yaml_names(labels))
        case _:
            raise ConfigError(
                f"{shown(content)} is no rule: see {{if:, then:}}, {{exclude:}}, {{exactly: 1, of:}}, {{label:, requires:}}, or "
                "put quotes around a line that has a colon."
            )
    return rule if weight is None else Soft(rule, weight_of(weight))


def _of_yaml_names(labels: Any) -> tuple[Any, ...]:
    several = labels if isinstance(labels, list) else [labels]
    return tuple(
        _name(one) if isinstance(one, str) else Not(one["not"]) if isinstance(one, dict) and set(one) == {"not"} else one
        for one in several
    )


def soft_of(line: str, parse: Callable[[str], Any]) -> Soft | None:
    """The preference that a line says, ``parse`` reading its rule; None for another line. ConfigError where it is soft twice."""
    if not (found := SOFT.fullmatch(line)):
        return None
    if SOFT.fullmatch(found[2]):
        raise ConfigError(f"{shown(line)} is soft twice: give it one weight.")
    return Soft(parse(found[2]), weight_of(found[1]))


def weight_of(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"A weight is a number of nats, not {shown(value)}.") from None


def _names(text: str, by: str) -> tuple[Any, ...]:
    return tuple(_name(part) for part in _split(text, by))


def _split(text: str, by: str) -> list[str]:
    """At ``by`` outside of double quotes."""
    parts, quoted, last, at = [], False, 0, 0
    while at < len(text):
        if text[at] == '"':
            quoted = not quoted
        elif not quoted and text.startswith(by, at):
            parts.append(text[last:at])
            at = last = at + len(by)
            continue
        at += 1
    return [*parts, text[last:]]


def _name(text: str) -> Any:
    """A label, or its absence."""
    text = text.strip()
    if text.lower().startswith("not ") and not text.startswith('"'):
        return Not(_name(text[4:]))
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    name = text[1:-1] if quoted else text
    if not name or (not quoted and ":" in name):
        raise ConfigError(
            f"{shown(name)} is no name: those with a comma or a colon are put in double quotes. Rules are: {FORMS}."
        )
    return name
