"""Rules over masks as people write them: a text file with a rule a line, or a YAML list of such lines.

A class is a value of the training masks.

# lines that begin with # say nothing
connected 1                               in one piece; "connected 1: 3 pieces" in three at most
size 1: 5% to 40%                         of the image's pixels
within 1: rows 10% to 90%, columns 0% to 50%          or one of the two
soft 20: connected 1                      a preference, which a mask may break for 20 nats; of any of these
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from enstruct.errors import ConfigError, shown
from enstruct.rules.masks import Connected, Size, Within
from enstruct.rules.text import line_of, read_rule_file, soft_of

FORMS = "connected 1; connected 1: 3 pieces; size 1: 5% to 40%; within 1: rows 10% to 90%, columns 0% to 50%; soft 20: rule"
SHARES = r"([0-9.]+)\s*%\s*to\s*([0-9.]+)\s*%"


def read_mask_rules(path: Path | str) -> list[Any]:
    """The rules of a text file, or of a .yaml or .yml one. ParseError, with the line, for what is none; DataError for no file."""
    return read_rule_file(Path(path), lambda item: parse_mask_rule(line_of(item)))


def parse_mask_rule(line: str) -> Any:
    """The rule that a line says. ConfigError for a line that says none."""
    line = line.strip()
    if soft := soft_of(line, parse_mask_rule):
        return soft
    if found := re.fullmatch(r"connected\s+(\d{1,9})(?:\s*:\s*(\d{1,9})\s+pieces?)?", line, re.IGNORECASE):
        return Connected(int(found[1]), int(found[2] or 1))
    if found := re.fullmatch(rf"size\s+(\d{{1,9}})\s*:\s*{SHARES}", line, re.IGNORECASE):
        return Size(int(found[1]), _share(found[2]), _share(found[3]))
    box = rf"within\s+(\d{{1,9}})\s*:\s*(?:rows\s+{SHARES})?\s*,?\s*(?:columns\s+{SHARES})?"
    if (found := re.fullmatch(box, line, re.IGNORECASE)) and (found[2] or found[4]):
        top, bottom, left, right = (None if each is None else _share(each) for each in found.groups()[1:])
        return Within(int(found[1]), top or 0.0, left or 0.0, 1.0 if bottom is None else bottom, 1.0 if right is None else right)
    raise ConfigError(f"{shown(line)} is no rule over masks; these are: {FORMS}.")


def _share(percent: str) -> float:
    try:
        return float(percent) / 100
    except ValueError:
        raise ConfigError(f"{shown(percent)} is no percentage. Rules over masks: {FORMS}.") from None
