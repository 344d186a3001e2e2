"""Members of a folder's files and of the archives that lie in it, one after another."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from enstruct.errors import ParseError

TARRED = (".tgz", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2")


def members(folder: Path, ending: str) -> Iterator[tuple[str, bytes]]:
    """(path below the folder, content) of files with this ending, those within .zip and .tar archives too.

    A member of an archive is named as if it were unpacked beside it. Nothing is unpacked on disk.
    """
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        beside = path.relative_to(folder).parent
        try:
            if path.suffix == ending:
                yield path.relative_to(folder).as_posix(), path.read_bytes()
            elif path.suffix == ".zip":
                with zipfile.ZipFile(path) as packed:
                    for name in sorted(name for name in packed.namelist() if name.endswith(ending)):
                        yield (beside / name).as_posix(), packed.read(name)
            elif path.name.endswith(TARRED):
                with tarfile.open(path) as tarred:
                    for entry in tarred:
                        content = tarred.extractfile(entry) if entry.name.endswith(ending) else None
                        if content is not None:
                            yield (beside / entry.name).as_posix(), content.read()
        except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
            raise ParseError(f"the archive cannot be read ({error})", path) from error
