"""The example's backend against requests that Label Studio 1.23.2 sent it (recorded on 2026-11-27)."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

ROOT = Path(__file__).parents[1]
REQUESTS = [json.loads(line) for line in (ROOT / "tests" / "label_studio_requests.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("label_studio_backend", ROOT / "examples" / "label_studio_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def backend(example):
    return example.trained(1)


@pytest.fixture(scope="module")
def client(example, backend):
    return TestClient(example.application(backend))


def test_what_was_recorded():
    assert [(one["method"], one["path"]) for one in REQUESTS] == [
        ("GET", "/health"),
        ("POST", "/setup"),
        ("POST", "/predict"),
        ("POST", "/predict"),
        ("POST", "/webhook"),
    ]


@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_every_request_is_answered(client, number):
    one = REQUESTS[number]
    answer = client.request(one["method"], one["path"], json=one["body"])
    assert answer.status_code in (200, 201), answer.text


def test_an_annotation_under_way_is_told_to_the_joint(client, backend):
    """The request holds "guitar" in its context: it comes back, and the others are the joint's given it."""
    body = next(one["body"] for one in REQUESTS if one["path"] == "/predict" and one["body"]["params"]["context"])
    assert body["params"]["context"]["result"][0]["value"] == {"choices": ["guitar"]}
    (answer,) = client.post("/predict", json=body).json()["results"]
    (result,) = answer["result"]
    assert (result["from_name"], result["to_name"], result["type"]) == ("labels", "text", "choices")
    known = np.full((1, 5), np.nan)
    known[0, backend.names.index("guitar")] = 1
    p = backend.model.predict_proba([body["tasks"][0]["data"]["body"]], known=known)[0]
    assert result["value"]["choices"] == [name for name, value in zip(backend.names, p, strict=True) if value >= 0.5]
    assert "guitar" in result["value"]["choices"]


def test_several_tasks_are_answered_in_their_order(client):
    body = next(one["body"] for one in REQUESTS if one["path"] == "/predict" and not one["body"]["params"]["context"])
    assert len(client.post("/predict", json=body).json()["results"]) == len(body["tasks"]) == 2


@pytest.mark.parametrize(
    "config",
    [
        "<View/>",
        "<View",
        '<View><Choices name="a" toName="t"/><Choices name="b" toName="t"/></View>',
        '<!DOCTYPE x [<!ENTITY a "b">]><View><Choices name="a" toName="t"/></View>',
        "x" * 300_000,
    ],
)
def test_other_projects_are_refused(client, config):
    answer = client.post("/setup", json={"schema": config})
    assert answer.status_code == 400
    assert len(answer.json()["detail"]) <= 300
