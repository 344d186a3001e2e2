import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from enstruct.cli.progress import DownloadBar
from enstruct.data.catalogue import CATALOGUE, Entry, locate, show_downloads
from enstruct.data.load import load_splits
from enstruct.errors import DatasetNotFoundError

CONTENT = b"@relation far\n" * 20_000


@pytest.fixture
def served(monkeypatch, tmp_path):
    """An entry whose public copy is CONTENT on this machine, and an empty cache; how often it was asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *_):
            pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ENSTRUCT_DATA", raising=False)
    show_downloads(None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/far.arff"
        yield Entry("far", {"full": "far.arff"}, url=url, sha256=hashlib.sha256(CONTENT).hexdigest()), asked
        server.shutdown()
    show_downloads(None)


def test_a_public_copy_is_fetched_once_and_in_silence(served, capfd, caplog):
    entry, asked = served
    with caplog.at_level("INFO", "enstruct"):
        path = locate(entry, "full")
    assert path.read_bytes() == CONTENT
    assert "fetching far from http://127.0.0.1" in caplog.text
    assert locate(entry, "full") == path
    assert len(asked) == 1
    assert capfd.readouterr() == ("", "")


def test_another_content_than_the_catalogue_knows_is_refused(served, tmp_path):
    entry, _ = served
    other = Entry("far", entry.parts, url=entry.url, sha256="0" * 64)
    with pytest.raises(DatasetNotFoundError, match=r"could not be fetched.*hash"):
        locate(other, "full")
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]


def test_downloads_are_shown_to_who_asks(served):
    entry, _ = served
    bars = []

    class Counted(DownloadBar):
        def __init__(self, name):
            super().__init__(name)
            self.seen = []
            bars.append(self)

        def update(self, n):
            super().update(n)
            self.seen.append((self.bar.tasks[0].completed, self.bar.tasks[0].total))

    show_downloads(Counted)
    locate(entry, "full")
    (bar,) = bars
    assert len(bar.seen) > 2
    assert bar.seen[0][0] < bar.seen[0][1] == len(CONTENT)
    assert bar.seen[-1] == (len(CONTENT), len(CONTENT))
    assert bar.bar.finished
    assert not bar.bar.live.is_started


def test_catalogue_says_what_would_provide_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match=r"no public copy.*spo_FUN.train.arff.xz below the folder ENSTRUCT_DATA"):
        load_splits("spo_FUN")
    import pooch

    asked = []

    def retrieve(url, known_hash, fname, path, downloader):
        asked.append((url, known_hash))
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(DatasetNotFoundError, match="could not be fetched"):
        locate(CATALOGUE["bibtex"], "full")
    assert asked[0][0].startswith("https://")
    assert len(asked[0][1]) == len("sha256:") + 64
