"""How sound input is spoilt: its bytes, its lines and cells, the values of its JSON.

Each takes a random source and returns (what was done, the result).
"""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable
from typing import Any

NASTY = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e999", "-1", "0", "-0", "1.5", "1_000", "0x10", "99999999999999999999",
    "9" * 400, "1e-400", "?", "??", "None", "null", "true", "٣", "½", "\ufeff", "\u2028", "\x00", "\x1a", "\x85", "\r", "\t",
    ",", ";", "|", '"', "'", "\\", "{", "}", "[", "]", "<", "</", "&#0;", "%s", "{0}", "../../etc/passwd", "=1+1",
    "a" * 5000, "{" * 2000, "[" * 2000, "@data", "@attribute", "-DOCSTART-", "#", "%", ":", "1:", ":1", "1:1:1", "-1:2",
    "0:nan", "é", "日本", "𝔘", "\u202e", "\U0010ffff",
)  # fmt: skip
"""Pieces of text that readers have tripped over."""
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 1.5, -0.0, float("nan"), float("inf"), "", "x", "0", [], {}, [None],
    [[]], {"": None}, "a" * 2000, [0] * 2000, {"estimator": "os.system"}, "../..", "\x00", "\ud800",
)  # fmt: skip
"""Of JSON; Python's json writes NaN, Infinity and lone surrogates, and reads them."""
Random = random.Random


def spoil_bytes(rng: Random, content: bytes) -> tuple[str, bytes]:
    """One to three changes without any thought of what the bytes mean."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(("flip", "flip", "cut", "drop", "double", "insert", "zero", "swap", "number"))
        content = _of_bytes(rng, name, content)
        done.append(name)
    return "bytes: " + ", ".join(sorted(set(done))), content


def _of_bytes(rng: Random, name: str, content: bytes) -> bytes:
    n = len(content)
    at = rng.randrange(n + 1)
    end = min(n, at + rng.choice((1, 2, 4, 16, 256)))
    match name:
        case "flip":
            changed = bytearray(content)
            for _ in range(rng.choice((1, 1, 4, 32))):
                if n:
                    changed[rng.randrange(n)] ^= 1 << rng.randrange(8)
            return bytes(changed)
        case "cut":
            return content[:at]
        case "drop":
            return content[:at] + content[end:]
        case "double":
            return content[:end] + content[at:end] * rng.choice((1, 1, 100)) + content[end:]
        case "insert":
            return content[:at] + rng.randbytes(rng.choice((1, 4, 64))) + content[at:]
        case "zero":
            return content[:at] + b"\0" * (end - at) + content[end:]
        case "swap":
            return content[end:] + content[at:end] + content[:at]
        case _:  # what a header may claim
            form, value = rng.choice(
                (("<I", 2**32 - 1), ("<I", 2**31 - 1), (">I", 2**31 - 1), ("<Q", 2**63 - 1), ("<Q", 2**40), ("<I", 0))
            )
            claim = struct.pack(form, value)
            return content[:at] + claim + content[at + len(claim) :]


def spoil_text(rng: Random, content: bytes) -> tuple[str, bytes]:
    """One to three changes of lines, and of the cells in them as commas, blanks, tabs and colons part them."""
    lines = content.decode("utf-8").split("\n")
    done = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(
            ("cell", "cell", "cell", "cell", "drop a line", "double a line", "swap lines", "break", "join", "many", "insert")
        )
        done.append(name)
        at = rng.randrange(len(lines))
        match name:
            case "cell":
                lines[at] = _cell(rng, lines[at])
            case "drop a line" if len(lines) > 1:
                del lines[at]
            case "double a line":
                lines.insert(rng.randrange(len(lines) + 1), lines[at])
            case "swap lines":
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case "break":
                place = rng.randrange(len(lines[at]) + 1)
                lines[at : at + 1] = [lines[at][:place], lines[at][place:]]
            case "join" if at + 1 < len(lines):
                lines[at : at + 2] = [lines[at] + lines[at + 1]]
            case "many":
                lines[at] = rng.choice(("a,", "1:1 ", "{", "[", '"', "@", "<x>")) * rng.choice((50, 5000))
            case _:
                lines.insert(at, rng.choice(NASTY))
    return "text: " + ", ".join(sorted(set(done))), "\n".join(lines).encode("utf-8", errors="surrogatepass")


def _cell(rng: Random, line: str) -> str:
    marks = [k for k, character in enumerate(line) if character in ",; \t:{}<>=|"]
    places = [-1, *marks, len(line)]
    k = rng.randrange(len(places) - 1)
    begin, end = places[k] + 1, places[k + 1]
    match rng.randrange(4):
        case 0:
            return line[:begin] + rng.choice(NASTY) + line[end:]
        case 1:
            return line[:begin] + line[end + 1 :]
        case 2:
            return line[:end] + line[max(0, begin - 1) : end] + line[end:]
        case _:
            other = rng.randrange(len(places) - 1)
            return line[:begin] + line[places[other] + 1 : places[other + 1]] + line[end:]


def spoil_json(rng: Random, value: Any) -> tuple[str, Any]:
    """A copy of which one place, or two, has another value, is gone, or has got a neighbour."""
    value = copy.deepcopy(value)
    done = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        places = [*_places(value, ())]
        if not places:
            return "json: whole", rng.choice(ODD_VALUES)
        path = rng.choice(places)
        holder, key = _holder(value, path), path[-1]
        match rng.randrange(5):
            case 0:
                del holder[key]
                done.append("gone")
            case 1 if isinstance(holder, dict):
                holder[rng.choice(("x", "", "format", "__class__", "estimator"))] = rng.choice(ODD_VALUES)
                done.append("one more")
            case 1:
                holder.insert(key, copy.deepcopy(rng.choice([*ODD_VALUES, holder[key]])))
                done.append("one more")
            case 2:
                holder[key] = copy.deepcopy(_holder(value, (*rng.choice(places), 0)))
                done.append("of another place")
            case 3 if isinstance(holder[key], (int, float)):
                holder[key] = holder[key] + rng.choice((1, -1, 0.5, 2**31, -(2**31)))
                done.append("another number")
            case _:
                holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
                done.append("odd value")
    return "json: " + ", ".join(sorted(set(done))), value


def _places(value: Any, path: tuple[Any, ...]) -> Any:
    """The paths of all that is in it; of long lists the first four and the last."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    n = len(value) if isinstance(value, (dict, list)) else 0
    for k, (key, inner) in enumerate(items):
        if isinstance(value, list) and 4 <= k < n - 1:
            continue
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _holder(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def foreign(rng: Random) -> tuple[str, bytes]:
    """What is no data of any kind: nothing at all, noise, other programs' files."""
    kinds: dict[str, Callable[[], bytes]] = {
        "empty": lambda: b"",
        "noise": lambda: bytes([0xFF, 0xFE]) + rng.randbytes(rng.choice((1, 64, 5000))),
        "zeros": lambda: b"\0" * rng.choice((1, 4096)),
        "a PDF": lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n" + rng.randbytes(300),
        "a program": lambda: b"\x7fELF\x02\x01\x01" + rng.randbytes(500),
        "a pickle": lambda: b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
        "UTF-16": lambda: "a,b\n1,2\n".encode("utf-16"),
        "Latin-1": lambda: "é,ü\n1,2\n".encode("latin-1"),
    }
    name = rng.choice([*kinds])
    return f"foreign: {name}", kinds[name]()
