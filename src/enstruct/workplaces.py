"""Places in which one process alone works: hidden folders beside a path that is being saved, exchanges in one step.

A process that is killed leaves its hidden folder; the lock on it ends with the process, so the next one that saves or loads there
knows it for dead, puts back what an unfinished swap had set aside, and sweeps it.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

try:
    _renameat2: Any = ctypes.CDLL(None, use_errno=True).renameat2
except (OSError, AttributeError, TypeError):  # not Linux, or an old C library
    _renameat2 = None

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of <fcntl.h> and <linux/fs.h>
SUFFIX, FORMER = ".saving", "former"
"""Of workplaces, and of what an unfinished swap has set aside in one."""


@contextmanager
def workplace(path: Path) -> Iterator[Path]:
    """A new hidden folder beside ``path``, this block's alone, to make what is to stand at ``path`` in. It is gone in the end.

    What killed processes left there is swept first (:func:`recover`). The claim on the folder is a lock that ends with its
    process, so that nobody sweeps the folder of one that lives. OSError where no folder can be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    recover(path)
    while True:
        # named before it is made, so that a signal right after it was made leaves nothing; no two get the same 48 random bits
        folder = path.parent / f".{path.name}.{secrets.token_urlsafe(6)}{SUFFIX}"
        try:
            folder.mkdir(mode=0o700)
            with _claimed_folder(folder) as ours:
                if ours:
                    yield folder
                    return
                # swept by another process before the claim was made: once more
        finally:
            try:
                _clean(folder, path)
            except (KeyboardInterrupt, OSError) as error:  # a signal while it is cleaned: that is brought to its end
                _clean(folder, path)
                # rmtree interrupted as it closes a folder closes it twice, and that error hides the signal's
                raise error.__context__ if isinstance(error.__context__, KeyboardInterrupt) else error from None


def _clean(folder: Path, path: Path) -> None:
    """The folder goes, and what it had set aside of ``path`` goes back."""
    with suppress(OSError):
        _restore(folder, path)
    shutil.rmtree(folder, ignore_errors=True)


def recover(path: Path) -> None:
    """Sweep what killed processes left beside ``path``; the former content they had set aside comes back if ``path`` is missing.

    Where the system has no locks on files, the living cannot be told from the dead, and nothing is touched.
    """
    if fcntl is None:
        return
    for folder in _workplaces(path.parent, path.name):
        with suppress(OSError), _claimed_folder(folder) as ours:
            if ours:
                _clean(folder, path)


def _restore(folder: Path, path: Path) -> None:
    """What an unfinished swap had set aside goes back to its place."""
    if (folder / FORMER).exists() and not path.exists():
        os.rename(folder / FORMER, path)


@contextmanager
def _claimed_folder(folder: Path) -> Iterator[bool]:
    """Whether this process alone has the folder, for as long as the block lasts, and the folder is still there."""
    if fcntl is None:
        yield True
        return
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.path.samestat(os.fstat(number), os.stat(folder))
        except OSError:
            ours = False
        yield ours
    finally:
        os.close(number)


def _workplaces(parent: Path, name: str, inner: str = "") -> Iterator[Path]:
    """Folders that a saver of ``name`` made, or what they hold under a name.

    Their random part has a fixed length, so that those of "m.old" are not taken for those of "m".
    """
    return parent.glob(f".{glob.escape(name)}.{'?' * 8}{SUFFIX}" + (f"/{inner}" if inner else ""))


def exchange(one: Path, other: Path) -> None:
    """Two paths change places in one step (Linux's ``renameat2``), so that no reader finds either missing.

    FileNotFoundError if one is not there, other OSErrors of the system; NotImplementedError where the system or the file system
    cannot do it and both are there.
    """
    if not (one.exists() and other.exists()):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(other))
    if _renameat2 is None:
        raise NotImplementedError
    if _renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise NotImplementedError
        raise OSError(number, os.strerror(number), str(other))


def identity(path: Path) -> tuple[int, ...] | None:
    """Which file or folder it is; None where there is none. It is another after a :func:`replace_folder`."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns  # a number is given again once its folder is gone


def being_replaced(path: Path) -> bool:
    """Whether a process is between the two renames of a folder where the system cannot exchange in one step."""
    return not path.exists() and any(_workplaces(path.parent, path.name, FORMER))
