"""What label, review and answers share: the data of a page, its session, and the page served until Ctrl-C."""

from __future__ import annotations

import hashlib
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace

from enstruct.cli.main import Terminated
from enstruct.cli.tables import say
from enstruct.data.csv_table import raw_table
from enstruct.data.kinds import ending
from enstruct.errors import ConfigError, MissingExtraError, ParseError, shown
from enstruct.workbench.session import Session


def check_page(options: Namespace) -> None:
    """Before anything is read: MissingExtraError without what serves pages, ConfigError for a port that is none."""
    try:
        import enstruct.workbench.server  # noqa: F401
    except MissingExtraError:
        raise
    if not 0 <= options.port < 2**16:
        raise ConfigError(f"--port is a number from 0 (any) to 65535, not {options.port}.")


def serve(session: Session, options: Namespace) -> None:
    """Until Ctrl-C or SIGTERM, which is how it is meant to end."""
    from enstruct.workbench.safety import new_token
    from enstruct.workbench.server import serving

    with closing(session), serving(session, new_token(), options.host, options.port) as address:
        session.begin_ranking()
        say(f"open {address}")
        say(f"answers are kept in {session.journal.path}; Ctrl-C ends")
        if options.open:
            webbrowser.open(address)
        try:
            threading.Event().wait()
        except Terminated:
            pass
        except KeyboardInterrupt:
            pass
    say(f"{len(session.finished)} of {session.labelling.n_rows} rows finished, {session.journal.n_told} labels told")


def header_of(task: str, source: str, n_rows: int, names: list[str], how: Mapping[str, Any]) -> dict[str, Any]:
    """The first line of a file of answers; ``how``: the data are read again."""
    kept = str(Path(source).resolve()) if Path(source).exists() else source
    return {"task": task, "data": kept, "rows": n_rows, "names": names, "content": content_of(source), "how": dict(how)}


def content_of(source: str) -> str:
    """A digest of a file's bytes, or of the names and sizes of a folder's files; of a named set its name."""
    path, digest = Path(source), hashlib.sha256()
    if path.is_file():
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    elif path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file():
                digest.update(f"{each.relative_to(path)} {each.stat().st_size}\n".encode())
    else:
        digest.update(source.encode())
    return digest.hexdigest()


def pictures_of(source: str, column: str | None) -> list[str] | None:
    """The cells of a column of a CSV file."""
    if column is None:
        return None
    if ending(source) not in (".csv", ".tsv"):
        raise ConfigError(f"--pictures names a column of a CSV file, and {source} is none: leave it out.")
    table = raw_table(source)
    if column not in table:
        first = ", ".join([*table][:6])
        raise ParseError(f"there is no column {shown(column)} of pictures; the header has {first}, ...", source, 1)
    return [cell.strip() for cell in table[column]]


def as_rows(X: Any) -> Any:
    """Texts as a list, else what can be indexed by rows."""
    return [str(text) for text in X] if isinstance(X, np.ndarray) and X.dtype == object else X
