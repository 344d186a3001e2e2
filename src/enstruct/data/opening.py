"""Opening files, whatever they are compressed by."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from enstruct.errors import DatasetNotFoundError, ParseError

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
MOST_UNPACKED = 2**28
"""Bytes that a compressed text may hold."""
FREE, RATIO = 2**26, 200
"""Beyond ``FREE`` bytes what expands to more than ``RATIO`` times its size is empty, and made to fill memories."""


def is_file(path: Path | str) -> bool:
    """Not of a name that no file can have, either."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long; with a NUL in it
        return False


def is_folder(path: Path | str) -> bool:
    """Likewise."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def open_binary(path: Path | str) -> IO[bytes]:
    """The bytes of a plain, .xz, .gz or .bz2 file; DatasetNotFoundError if there is none."""
    path = Path(path)
    if not is_file(path):
        raise DatasetNotFoundError(f"There is no file {path}.")
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def read_lines(path: Path | str) -> list[str]:
    """All lines; a damaged archive, one of too much, or another encoding than UTF-8, is a ParseError."""
    with _reading(path) as file:
        text = file.read().removeprefix("\ufeff").removesuffix("\n")
        return text.split("\n") if text else []  # splitlines() would break at rarer marks as well


def stream_lines(path: Path | str) -> Generator[str, None, None]:
    """As :func:`read_lines`, one after another."""
    with _reading(path) as file:
        for number, line in enumerate(file):
            yield (line.removeprefix("\ufeff") if number == 0 else line).removesuffix("\n")


@contextmanager
def _reading(path: Path | str) -> Iterator[IO[str]]:
    try:
        binary = open_binary(path)
        if Path(path).suffix.lower() in OPENERS:
            binary = io.BufferedReader(_Unpacked(binary, Path(path)), 2**16)
        with io.TextIOWrapper(binary, encoding="utf-8") as file:
            yield file
    except (DatasetNotFoundError, ParseError):
        raise
    except UnicodeDecodeError as error:
        raise ParseError(f"the file is not in UTF-8 ({error.reason}): save it as UTF-8", path, _undecodable(path)) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ParseError(f"the file cannot be decompressed or read ({error}); fetch it again", path) from error


def _undecodable(path: Path | str) -> int | None:
    """The first line that is not in UTF-8: decoders count within what they have read last."""
    with suppress(OSError, EOFError, lzma.LZMAError, zlib.error), open_binary(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


class _Unpacked(io.RawIOBase):
    """What an archive unpacks to; a ParseError once that is too much."""

    def __init__(self, archive: IO[bytes], path: Path) -> None:
        self._archive, self._path, self._size, self._given = archive, path, path.stat().st_size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._archive.read(len(buffer))
        self._given += len(content)
        if self._given > MOST_UNPACKED or self._given > max(FREE, RATIO * self._size):
            what = f"the file unpacks to more than {self._given} bytes, from {self._size}"
            raise ParseError(f"{what}: unpack it first, if that is what it holds", self._path)
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._archive.close()
        super().close()
