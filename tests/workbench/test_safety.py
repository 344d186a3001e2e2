"""Who may speak to the workbench."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from enstruct.workbench.safety import LARGEST_BODY, Guard, new_token

TOKEN = "t0ken"


@pytest.fixture(scope="module")
def client():
    app = FastAPI()

    @app.get("/who")
    def who():
        return {"path": "seen"}

    @app.post("/take")
    def take(body: dict):
        return {"size": len(str(body))}

    return TestClient(Guard(app, TOKEN, ["127.0.0.1", "localhost"], 8000), base_url="http://127.0.0.1:8000")


def test_with_the_token(client):
    answer = client.get(f"/{TOKEN}/who")
    assert answer.json() == {"path": "seen"}
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/who", "/", "", "/t0ke/who", "/t0kenx/who", "//who", f"/x/{TOKEN}/who", f"/{TOKEN.upper()}/who"]
)
def test_without_it(client, path):
    assert client.get(f"http://127.0.0.1:8000{path}").status_code == 403


@pytest.mark.parametrize("host", ["evil.example:8000", "127.0.0.1", "127.0.0.1:9000", "localhost.evil.example:8000", ""])
def test_foreign_hosts_are_refused(client, host):
    assert client.get(f"/{TOKEN}/who", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9000", "file://"])
def test_foreign_origins_are_refused(client, origin):
    assert client.get(f"/{TOKEN}/who", headers={"origin": origin}).status_code == 403
    assert client.post(f"/{TOKEN}/take", json={}, headers={"origin": origin}).status_code == 403


def test_its_own_origin_is_not(client):
    for name in ("127.0.0.1:8000", "localhost:8000"):
        assert client.get(f"/{TOKEN}/who", headers={"origin": f"http://{name}", "host": name}).status_code == 200


def test_large_requests_are_refused(client):
    assert client.post(f"/{TOKEN}/take", json={"a": "x" * 100}).status_code == 200
    assert client.post(f"/{TOKEN}/take", content=b"x" * (LARGEST_BODY + 1)).status_code == 413


def test_websockets_are_refused(client):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect(f"/{TOKEN}/who"):
        pass


def test_tokens_differ():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32
