"""Opening files, whatever they are compressed by."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from enstruct.errors import DatasetNotFoundError, ParseError

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def open_binary(path: Path | str) -> IO[bytes]:
    """The bytes of a plain, .xz, .gz or .bz2 file; DatasetNotFoundError if there is none."""
    path = Path(path)
    if not path.is_file():
        raise DatasetNotFoundError(f"There is no file {path}.")
    return OPENERS.get(path.suffix, open)(path, "rb")


def read_lines(path: Path | str) -> list[str]:
    """All lines; a damaged archive, or another encoding than UTF-8, is a ParseError."""
    with _reading(path) as file:
        text = file.read().removeprefix("\ufeff").removesuffix("\n")
        return text.split("\n") if text else []  # splitlines() would break at rarer marks as well


def stream_lines(path: Path | str) -> Iterator[str]:
    """As :func:`read_lines`, one after another."""
    with _reading(path) as file:
        for number, line in enumerate(file):
            yield (line.removeprefix("\ufeff") if number == 0 else line).removesuffix("\n")


@contextmanager
def _reading(path: Path | str) -> Iterator[IO[str]]:
    try:
        with io.TextIOWrapper(open_binary(path), encoding="utf-8") as file:
            yield file
    except DatasetNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise ParseError(f"the file is not in UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8", path) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ParseError(f"the file cannot be decompressed or read ({error}); fetch it again", path) from error
