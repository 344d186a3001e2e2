"""The library's own error tree: every message says what was wrong, where, and how to mend it.

Each class also derives from the built-in that callers (scikit-learn above all) expect, so
``except ValueError`` keeps working around bad data. Messages have at most ``MOST_CHARACTERS``: what is shown of a file may be of
any size, and the cut is made here, in the middle, for every error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

MOST_CHARACTERS = 300
"""Of a message."""


def shortened(text: str, most: int) -> str:
    """``text``, or, where it is longer than ``most`` characters, its beginning and its end around an ellipsis."""
    if len(text) <= most:
        return text
    end = 2 * (most - 1) // 5
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def shown(value: object, most: int = 60) -> str:
    """How a message quotes a value that may be of any size: its ``repr``, cut to about ``most`` characters."""
    if isinstance(value, str):
        return shortened(repr(shortened(str(value), most)), 2 * most)  # what cannot be printed takes several characters
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]  # 2.0, not np.float64(2.0); NumPy is not imported for it
    try:
        return shortened(repr(value), most)
    except ValueError:  # a whole number of more digits than Python writes
        return f"<{type(value).__name__} of very many digits>"


class EnstructError(Exception):
    """Base of every error raised on purpose by enstruct; of a message longer than ``MOST_CHARACTERS`` the middle is left out."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(shortened(arg, MOST_CHARACTERS) if isinstance(arg, str) else arg for arg in args))


class DataError(EnstructError, ValueError):
    """The arrays or label sets handed in cannot be used."""


class ParseError(DataError):
    """A data file is malformed.

    Attributes: ``path`` (file), ``line`` (1-based, or None; where ``unit`` is "row", as of Parquet, a row) and ``column``
    (attribute name or None).
    """

    def __init__(
        self, message: str, path: Path | str, line: int | None = None, column: str | None = None, unit: str = "line"
    ) -> None:
        where = shortened(str(path), MOST_CHARACTERS // 2) + ("" if line is None else f", {unit} {line}")
        if column is not None:
            where += f", column {shown(column)}"
        super().__init__(f"{where}: {message}")
        self.path, self.line, self.column, self.unit = str(path), line, column, unit


class DatasetNotFoundError(DataError, FileNotFoundError):
    """A data set's name or path leads nowhere; the message names what would provide it."""

    def __str__(self) -> str:  # OSError would print errno noise
        return str(self.args[0])


class ConfigError(EnstructError, ValueError):
    """A method, argument or option is unknown or contradicts another."""


class MissingEncoderError(ConfigError):
    """A pretrained encoder is not where it should be."""


class SecondDerivativeError(ConfigError):
    """A layer lacks the second derivative that implicit or unrolled training asks of it."""


class ModelFileError(EnstructError, ValueError):
    """A saved model or checkpoint is missing, corrupt, foreign or from a newer version."""


class SaveError(EnstructError, OSError):
    """Writing failed (disk full, no permission); nothing half-written was left behind."""


class DivergenceError(EnstructError, ArithmeticError):
    """Training produced a non-finite value."""


class MissingExtraError(EnstructError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class WorkerError(EnstructError, RuntimeError):
    """A process that fits beside others was ended, or has another version."""


class EnstructWarning(UserWarning):
    """Base of the library's warnings."""


class ConstantLabelWarning(EnstructWarning):
    """Some labels never vary in the training rows; the constant is predicted for them."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ConfigError:
    """A ConfigError that names the nearest known spelling."""
    names = sorted(known)
    return ConfigError(f"Unknown {kind} {shown(name)}.{nearest_name(name, names)} Known: {', '.join(names)}.")


def nearest_name(name: object, known: Iterable[str]) -> str:
    """A sentence, behind a blank, that asks whether the nearest of these names was meant; empty where none is near."""
    wanted = shortened(name, 60) if isinstance(name, str) else shown(name)
    alike = {one.lower(): one for one in known}
    close = difflib.get_close_matches(wanted.lower(), alike, n=1, cutoff=0.4)
    return f" Did you mean {alike[close[0]]!r}?" if close else ""
