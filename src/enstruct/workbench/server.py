"""The web side: paths to a :class:`~enstruct.workbench.session.Session`, behind a :class:`~enstruct.workbench.safety.Guard`.

    GET  /                        the page; /static/... what it is made of
    GET  /api/session             what it is drawn from once
    GET  /api/next                {"row": a row to label, or null}
    GET  /api/rows/N              what the row holds and how it stands
    POST /api/rows/N/answers      what the model says, given what is told and {"read": ...}
    POST /api/rows/N/question     {"ask": the cell that teaches most}
    POST /api/acts                {"act", "by", "row", "cells", "done", "seen"}: tell; the row as it stands then
    POST /api/undo                {"act", "by"}
    GET  /api/progress            how far all is
    GET  /api/suspects            the labels to review
    GET  /api/written             the data with the answers, as a file

Errors are {"error": a sentence}: 409 where somebody else was faster, 422 what cannot be told, 507 where nothing can be written.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from enstruct.errors import ConfigError, EnstructError, MissingExtraError, SaveError
from enstruct.workbench.journal import ConflictError, check_name
from enstruct.workbench.safety import Guard
from enstruct.workbench.session import Session

try:
    import uvicorn
    from fastapi import APIRouter, Body, FastAPI, Query, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import FileResponse, JSONResponse
    from starlette.background import BackgroundTask
    from starlette.staticfiles import StaticFiles
except ImportError as error:
    raise MissingExtraError("The workbench needs FastAPI: pip install 'enstruct[workbench]'.") from error

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
READY = 30.0
"""Seconds in which the server is there."""

Read = Annotated[dict[str, Any], Body(embed=True, default_factory=dict)]
By = Annotated[str, Query(max_length=64)]


def application(session: Session) -> FastAPI:
    """Without a guard: only :func:`serving` and tests take it as it is."""
    app = FastAPI(title="enstruct workbench", docs_url=None, redoc_url=None, openapi_url=None)

    @app.exception_handler(EnstructError)
    def refused(request: Request, error: EnstructError) -> JSONResponse:
        status = 409 if isinstance(error, ConflictError) else 507 if isinstance(error, SaveError) else 422
        return JSONResponse({"error": str(error)}, status)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        return JSONResponse({"error": f"The request cannot be understood: {where}: {str(first['msg'])[:120]}."}, 422)

    @app.get("/")
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(_asking(session), prefix="/api")
    app.include_router(_telling(session), prefix="/api")
    return app


def _asking(session: Session) -> APIRouter:
    """Paths by which nothing changes."""
    paths = APIRouter()

    @paths.get("/session")
    def describe() -> dict[str, Any]:
        return session.describe()

    @paths.get("/next")
    def next_row(by: By, after: int = -1) -> dict[str, Any]:
        return {"row": session.next(check_name("by", by), after)}

    @paths.get("/rows/{row}")
    def row_of(row: int, by: By = "") -> dict[str, Any]:
        return session.row(row, by)

    @paths.post("/rows/{row}/answers")
    def answers(row: int, read: Read) -> dict[str, Any]:
        return session.answers(row, read)

    @paths.post("/rows/{row}/question")
    def question(row: int, read: Read) -> dict[str, Any]:
        return {"ask": session.question(row, read)}

    @paths.get("/progress")
    def progress(row: int | None = None) -> dict[str, Any]:
        return session.progress(row)

    @paths.get("/suspects")
    def suspects() -> dict[str, Any]:
        return {"suspects": [] if session.review is None else session.review.listed(session.journal)}

    @paths.get("/written")
    def written() -> FileResponse:
        folder = Path(tempfile.mkdtemp(prefix="enstruct-written-"))
        try:
            name = f"{Path(session.journal.path).stem}{session.labelling.ending}"
            session.write(folder / name)
            if not session.labelling.ending:
                name = Path(shutil.make_archive(str(folder / name), "zip", folder, name)).name
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        after = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(folder / name, filename=name, media_type="application/octet-stream", background=after)

    return paths


def _telling(session: Session) -> APIRouter:
    """Paths of acts."""
    paths = APIRouter()

    @paths.post("/acts")
    def tell(
        act: Annotated[str, Body()],
        by: Annotated[str, Body()],
        row: Annotated[int, Body()],
        cells: Annotated[dict[str, Any], Body()],
        done: Annotated[bool, Body()] = False,
        seen: Annotated[int | None, Body()] = None,
    ) -> dict[str, Any]:
        return session.tell(check_name("act", act), check_name("by", by), row, cells, done, seen)

    @paths.post("/undo")
    def undo(act: Annotated[str, Body()], by: Annotated[str, Body()]) -> dict[str, Any]:
        return {"undone": session.undo(check_name("act", act), check_name("by", by))}

    return paths


@contextmanager
def serving(session: Session, token: str, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """While the block lasts pages are served; gives their address. ``port`` 0: any that is free.

    Only this machine reaches 127.0.0.1. ConfigError for a host or a port that cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ConfigError(f"Nothing can be served at {host}, port {port}: {error}. Choose another --port, or 0.") from error
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    names = {*LOOPBACK, shown.lower()} | _own_names(host)
    app = Guard(application(session), token, names, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="server", daemon=True)
    thread.start()
    try:
        begun = time.monotonic()
        while not server.started:
            if not thread.is_alive() or time.monotonic() - begun > READY:
                raise ConfigError(f"The server at {host}, port {port} did not start.")
            time.sleep(0.01)
        yield f"http://{shown if host not in ('0.0.0.0', '::') else socket.gethostname()}:{port}/{token}/"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()


def _own_names(host: str) -> set[str]:
    """By which others call this machine, where it listens to them."""
    if host not in ("0.0.0.0", "::"):
        return set()
    name = socket.gethostname().lower()
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(name, None)}
    except OSError:
        addresses = set()
    return {name, *(f"[{each}]" if ":" in str(each) else str(each) for each in addresses)}
