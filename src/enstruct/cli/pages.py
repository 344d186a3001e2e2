"""Pages that commands serve, until Ctrl-C: where they are to be found, and what they show of rows."""

from __future__ import annotations

import json
import os
import socket
import threading
import webbrowser
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from jsonargparse import Namespace

from enstruct.cli.tables import say
from enstruct.data.kinds import is_table
from enstruct.data.tables.read import raw_table
from enstruct.errors import ConfigError
from enstruct.records import parsed
from enstruct.workbench.session import Session

SHORTEST = 32
"""Characters of a token."""


def check_page(options: Namespace) -> None:
    """Before anything is read: MissingExtraError without what serves pages, ConfigError for a port that is none."""
    import_module("enstruct.workbench.server")
    if not 0 <= options.port < 2**16:
        raise ConfigError(f"--port is a number from 0 (any) to 65535, not {options.port}.")


def serve(session: Session, options: Namespace) -> None:
    """Until Ctrl-C or SIGTERM, which is how it is meant to end. Started again it has the address that it had, so that pages which
    wait for it go on."""
    from enstruct.workbench.server import serving

    place = _Address(session.journal.path)
    port, token = place.read()
    with closing(session), serving(session, token, options.host, options.port or port) as address:
        place.write(address, token)
        session.begin_ranking()
        say(f"open {address}")
        say(f"answers are kept in {session.journal.path}; Ctrl-C ends")
        if options.open:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            wait()
    if session.review is None:
        say(f"{len(session.finished)} of {session.labelling.n_rows} rows finished, {session.journal.n_told} answers kept")


def wait() -> None:
    """Until somebody ends the process."""
    threading.Event().wait()


class _Address:
    """Port and token of a page, in a hidden file beside its answers that nobody else may read."""

    def __init__(self, answers: Path) -> None:
        self.path = answers.with_name(f".{answers.name}.page")

    def read(self) -> tuple[int, str]:
        """As they were, where the port is free; else any port (0), and a new token."""
        from enstruct.workbench.safety import new_token

        try:
            kept = parsed(self.path.read_text(encoding="utf-8"), {"port": int, "token": str})
        except (OSError, ValueError):
            return 0, new_token()
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", kept["port"]))
            except (OSError, OverflowError):
                return 0, new_token()
        return kept["port"], kept["token"] if len(kept["token"]) >= SHORTEST else new_token()

    def write(self, address: str, token: str) -> None:
        record = json.dumps({"port": urlsplit(address).port, "token": token})
        self.forget()
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(record)

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


def pictures_of(source: str, column: str) -> list[str]:
    """The cells of a column of a table."""
    if not is_table(source):
        raise ConfigError(f"--pictures names a column of a CSV file or of Parquet, and {source} is none: leave it out.")
    return [cell.strip() for cell in raw_table(source, [column])[column]]


def as_rows(X: Any) -> Any:
    """Texts as a list, else what can be indexed by rows."""
    return [str(text) for text in X] if isinstance(X, np.ndarray) and X.dtype == object else X
