"""The paths of the web side, and a whole session over them."""

import csv
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.generated_songs import HEADER, LABELS

from enstruct.errors import ConfigError
from enstruct.workbench.contents import Contents
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.learning import Learner
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.server import application, serving
from enstruct.workbench.session import Session
from enstruct.workbench.written import Written

NAMES = sorted(LABELS)


@pytest.fixture
def client(session):
    return TestClient(application(session))


def act(row=0, cells=None, name="a1", by="me", **more):
    return {"act": name, "by": by, "row": row, "cells": cells or {"sad": True}, **more}


def test_a_row_from_beginning_to_end(client, session):
    described = client.get("/api/session").json()
    assert (described["task"], described["mode"], described["rows"], described["names"]) == ("labels", "label", 30, NAMES)
    row = client.get("/api/next?by=me").json()["row"]
    held = client.get(f"/api/rows/{row}?by=me").json()
    assert held["cells"] == {}
    assert len(held["content"]["features"]) == 4
    before = client.post(f"/api/rows/{row}/answers", json={"read": {}}).json()
    told = client.post("/api/acts", json=act(row, seen=held["version"]))
    assert told.json() == {"row": row, "cells": {"sad": True}, "done": False, "version": 1}
    after = client.post(f"/api/rows/{row}/answers", json={"read": {}}).json()
    assert after["p"][5] == 1 > before["p"][5]
    assert after["p"][0] == 0  # calm and sad exclude one another
    asked = client.post(f"/api/rows/{row}/question", json={"read": {}}).json()["ask"]
    assert asked in {*NAMES} - {"sad", "calm"}
    whole = dict(zip(NAMES, after["shown"], strict=True))
    assert client.post("/api/acts", json=act(row, whole, "a2", done=True)).json()["done"]
    assert client.get("/api/progress").json()["finished"] == 1
    assert client.get(f"/api/next?by=me&after={row}").json()["row"] != row
    assert client.post("/api/undo", json={"act": "u1", "by": "me"}).json()["undone"]["cells"] == {"sad": True}
    assert session.finished == set()


def test_the_written_data(client, session):
    client.post("/api/acts", json=act(3))
    answer = client.get("/api/written")
    assert 'filename="answers.csv"' in answer.headers["content-disposition"]
    rows = list(csv.reader(answer.text.splitlines()))
    assert rows[0] == ["f0", "f1", "f2", "f3", *NAMES]
    assert rows[4][-6:] == ["", "", "", "", "", "1"]
    assert rows[1][-6:] == [""] * 6


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (act(row=99), 422, "numbered from 0"),
        (act(row=-1), 422, "numbered from 0"),
        (act(cells={"clam": True}), 422, "Did you mean"),
        (act(cells={"calm": "yes"}), 422, "true, false or null"),
        (act(cells={"calm": True, "sad": True}), 422, "breaks the rule"),
        (act(done=True), 422, "once all its labels"),
        (act(name=""), 422, "plain characters"),
        (act(name="x" * 65), 422, "plain characters"),
        ({"act": "a"}, 422, "cannot be understood"),
        (act(row="five"), 422, "cannot be understood"),
        ([], 422, "cannot be understood"),
    ],
)
def test_what_cannot_be_told(client, session, body, status, message):
    before = session.journal.path.read_bytes()
    answer = client.post("/api/acts", json=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert len(answer.json()["error"]) <= 300
    assert session.journal.path.read_bytes() == before


def test_two_tabs_do_not_write_over_one_another(client):
    assert client.post("/api/acts", json=act(0, {"sad": True}, "a1", "one", seen=0)).status_code == 200
    late = client.post("/api/acts", json=act(0, {"sad": False}, "b1", "two", seen=0))
    assert late.status_code == 409
    assert "look again" in late.json()["error"]
    assert client.post("/api/acts", json=act(0, {"drums": False}, "b2", "two", seen=0)).status_code == 200
    assert client.get("/api/rows/0").json()["cells"] == {"sad": True, "drums": False}
    assert client.get("/api/progress?row=0").json()["version"] == 2


def test_many_at_once_lose_nothing(client, session):
    def label(who):
        for row in range(30):
            name = NAMES[who]
            done = client.post("/api/acts", json=act(row, {name: False}, f"{who}-{row}", f"w{who}"))
            assert done.status_code == 200

    threads = [threading.Thread(target=label, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.journal.n_told == 120
    assert session.journal.path.read_text().count("\n") == 121


def test_a_full_disk_is_said(client, session, monkeypatch):
    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("enstruct.workbench.journal.os.fsync", full)
    answer = client.post("/api/acts", json=act())
    assert answer.status_code == 507
    assert "free some space" in answer.json()["error"]


def test_files_of_the_page_alone_are_served(client):
    page = client.get("/")
    assert page.text.startswith("<!doctype html>")
    assert client.get("/static/main.js").status_code == 200
    for path in (
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static//etc/passwd",
        "/docs",
        "/openapi.json",
        "/api/other",
    ):
        assert client.get(path).status_code in (404, 405)


def test_a_server_is_there_and_goes(session):
    with serving(session, "tok") as address:
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as page:
            assert b"enstruct workbench" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.replace("/tok/", "/other/"))
        port = int(address.split(":")[2].split("/")[0])
        with pytest.raises(ConfigError, match="Choose another --port"), serving(session, "t", port=port):
            pass
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 leads to this machine on Linux alone")
@pytest.mark.parametrize(("host", "reached"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_only_127_0_0_1_is_listened_to_unless_asked(session, host, reached):
    with serving(session, "tok", host) as address:
        port = int(address.split(":")[2].split("/")[0])
        with socket.socket() as other:
            assert (other.connect_ex(("127.0.0.2", port)) == 0) is reached


def test_new_models_are_put_in_place(tmp_path, data, model):
    sets = LabelSets(NAMES, data.X, Contents(data), None, Written("new.csv", lambda: data))
    session = Session(sets, Journal(tmp_path / "answers.jsonl", HEADER), RowOrder(30, "teaching"), "new.csv")
    assert session.answers(0, {})["p"] is None
    session._use(sets, model)
    deadline = time.monotonic() + 10
    while np.isinf(session.order._worth).any() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert session.answers(0, {})["p"] is not None
    assert session.progress()["model"] == 1
    np.testing.assert_allclose(session.order._worth, sets.uncertainty(np.arange(30)))
    session.close()


def test_masks_come_as_an_archive(tmp_path, segmenter_and_pictures):
    from enstruct.workbench.masks import Masks

    segmenter, pictures = segmenter_and_pictures
    header = HEADER | {"task": "masks", "rows": len(pictures), "names": ["0", "1"]}
    session = Session(Masks(segmenter, pictures), Journal(tmp_path / "m.jsonl", header), RowOrder(len(pictures), "given"), "m")
    client = TestClient(application(session))
    runs = client.post("/api/rows/0/answers", json={"read": {}}).json()["runs"]
    assert client.get("/api/written").status_code == 422  # nothing is finished
    assert client.post("/api/acts", json=act(0, {"mask": runs}, done=True)).status_code == 200
    (tmp_path / "m.zip").write_bytes(client.get("/api/written").content)
    assert {name for name in zipfile.ZipFile(tmp_path / "m.zip").namelist() if name.endswith(".png")} == {
        "m/images/p0.png",
        "m/masks/p0.png",
    }
    session.close()


def test_people_at_once_break_no_rule(client, session):
    """What each tells is checked and told in one."""
    done = []

    def tell(who, name):
        for row in range(30):
            done.append(client.post("/api/acts", json=act(row, {name: True}, f"{who}-{row}", who)).status_code)

    threads = [threading.Thread(target=tell, args=pair) for pair in (("a", "calm"), ("b", "sad"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(done)) == [200, 422]
    assert all(len(session.journal.row(row).cells) == 1 for row in range(30))
    assert all(client.post(f"/api/rows/{row}/answers", json={"read": {}}).status_code == 200 for row in range(30))


def test_undo_breaks_no_rule(client):
    client.post("/api/acts", json=act(0, {"calm": True}, "a1", "me"))
    client.post("/api/acts", json=act(0, {"calm": None}, "a2", "me"))
    client.post("/api/acts", json=act(0, {"sad": True}, "b1", "you"))
    refused = client.post("/api/undo", json={"act": "u", "by": "me"})
    assert refused.status_code == 422
    assert "breaks the rule" in refused.json()["error"]
    assert client.get("/api/rows/0").json()["cells"] == {"sad": True}


def test_given_labels_that_break_a_rule_can_be_mended(tmp_path, data, model):
    told = np.full((30, 6), np.nan)
    told[0, [0, 5]] = 1  # calm and sad
    sets = LabelSets(NAMES, data.X, Contents(data), told, Written("new.csv", lambda: data), model)
    session = Session(sets, Journal(tmp_path / "answers.jsonl", HEADER), RowOrder(30, "given"), "new.csv")
    answers = session.answers(0, {})
    assert answers["p"] is None
    assert "calm" in answers["problem"]
    assert session.question(0, {}) is None
    assert session.tell("1", "me", 0, {"sad": False}, False, 0)["cells"] == {"calm": True, "sad": False}
    assert session.answers(0, {})["p"] is not None
    session.close()


def test_threads_end_with_the_session(tmp_path, data, model):
    """One that PyTorch works in would take the whole process down as it ends."""
    sets = LabelSets(NAMES, data.X, Contents(data), None, Written("new.csv", lambda: data), model)
    session = Session(sets, Journal(tmp_path / "answers.jsonl", HEADER), RowOrder(30, "teaching"), "new.csv")
    session.begin_ranking()
    session.close()
    assert not {thread.name for thread in threading.enumerate()} & {"ranking", "preparing", "fitting"}


def test_rows_that_the_data_told_are_finished(tmp_path, data):
    """And a model is fitted to them at once."""
    told = np.full((30, 2), np.nan)
    told[:25] = data.X[:25, :2] > 0
    sets = LabelSets(["a", "b"], data.X, Contents(data), told, Written("new.csv", lambda: data))
    learner = Learner(sets, np.ones(30, dtype=bool), {"base": "binary-relevance", "folds": 2, "random_state": 0})
    header = HEADER | {"names": ["a", "b"]}
    session = Session(sets, Journal(tmp_path / "answers.jsonl", header), RowOrder(30, "given"), "new.csv", learner)
    assert session.progress()["finished"] == 25
    assert session.next("me") == 25
    assert learner.fitting == 25
    session.tell("1", "me", 3, {"a": not told[3, 0]}, False, 0)  # one that is opened again
    assert 3 not in session.finished
    session.undo("2", "me")
    assert 3 in session.finished
    session.close()


def test_an_act_that_is_sent_again_is_not_judged_again(client):
    """What others told meanwhile may forbid it now; it is kept, and that is said."""
    assert client.post("/api/acts", json=act(0, {"calm": True}, "a1", "me")).status_code == 200
    client.post("/api/acts", json=act(0, {"calm": None, "sad": True}, "b1", "you"))
    again = client.post("/api/acts", json=act(0, {"calm": True}, "a1", "me"))
    assert again.status_code == 200
    assert again.json()["cells"] == {"sad": True}
