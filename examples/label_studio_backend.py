"""A backend for Label Studio: what an annotator has ticked already is told to the joint, and the other labels follow.

    enstruct train reviews.csv --text body --labels genre --out model
    python examples/label_studio_backend.py model       # then add http://127.0.0.1:9090 as an interactive model of the project

Label Studio asks no address of this machine unless it is started with ML_BLOCK_LOCAL_IP=false USE_DEFAULT_BANNED_SUBNETS=false.
Of projects with one <Choices choice="multiple"> about a <Text value="$body"/>, or about data with the model's features as fields.
With a number in the place of the folder a small model is trained on a few texts and asked what goes with "guitar".
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException

from enstruct import JointMultiLabelClassifier
from enstruct.errors import EnstructError

LARGEST = 200_000
"""Characters of a labelling configuration."""


def choices_of(config: str) -> tuple[str, str, str | None]:
    """(from_name, to_name, the field of the task that holds the text) of a project's configuration. ValueError."""
    if len(config) > LARGEST or "<!" in config.replace("<!--", ""):
        raise ValueError("the configuration is too large, or declares entities")
    root = ElementTree.fromstring(config)
    choices = root.findall(".//Choices")
    if len(choices) != 1:
        raise ValueError(f"the configuration has {len(choices)} <Choices>: this backend answers one")
    name, to = choices[0].get("name", ""), choices[0].get("toName", "")
    text = next((each.get("value", "") for each in root.iter("Text") if each.get("name") == to), "")
    return name, to, text[1:] if text.startswith("$") else None


def told_by(context: dict[str, Any] | None, name: str) -> dict[str, bool]:
    """Labels that are ticked in what Label Studio sends of an annotation under way: they are there, the others are open."""
    results = (context or {}).get("result") or []
    results = [results] if isinstance(results, dict) else results
    return {label: True for one in results if one.get("from_name") == name for label in one.get("value", {}).get("choices", [])}


class Backend:
    def __init__(self, model: JointMultiLabelClassifier, names: list[str], features: list[str] | None) -> None:
        self.model, self.names, self.features = model, names, features

    def predict(self, body: dict[str, Any]) -> dict[str, Any]:
        name, to, field = choices_of(body["label_config"])
        told = told_by((body.get("params") or {}).get("context"), name)
        known = np.full((len(body["tasks"]), len(self.names)), np.nan)
        for label in told:
            if label in self.names:  # a project may have labels that the model has not
                known[:, self.names.index(label)] = 1
        data = [task["data"] for task in body["tasks"]]
        X: Any = [str(row[field]) for row in data] if self.features is None else [[row[f] for f in self.features] for row in data]
        X = X if self.features is None else np.asarray(X, dtype=np.float64)
        p = np.asarray(self.model.predict_proba(X, known=known))
        return {"results": [self._answer(row, name, to) for row in p], "model_version": "enstruct"}

    def _answer(self, p: Any, name: str, to: str) -> dict[str, Any]:
        chosen = [label for label, value in zip(self.names, p, strict=True) if value >= 0.5]
        value = {"from_name": name, "to_name": to, "type": "choices", "value": {"choices": chosen}}
        return {"result": [value], "score": round(float(np.maximum(p, 1 - p).prod()), 6), "model_version": "enstruct"}


def application(backend: Backend) -> FastAPI:
    app = FastAPI(title="enstruct for Label Studio", openapi_url=None)

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "UP", "model_class": "enstruct"}

    @app.post("/setup")
    def setup(body: dict[str, Any]) -> dict[str, str]:
        try:
            choices_of(str(body.get("schema", "")))
        except (ValueError, ElementTree.ParseError) as error:
            raise HTTPException(400, str(error)[:300]) from error
        return {"model_version": "enstruct"}

    @app.post("/predict")
    def predict(body: dict[str, Any]) -> dict[str, Any]:
        try:
            return backend.predict(body)
        except (EnstructError, ValueError, KeyError, TypeError, ElementTree.ParseError) as error:
            raise HTTPException(400, f"{type(error).__name__}: {error}"[:300]) from error

    @app.post("/webhook", status_code=201)
    def webhook(body: dict[str, Any]) -> dict[str, Any]:
        """Label Studio tells of annotations; models are trained again by `enstruct train` on its export."""
        return {}

    return app


def loaded(folder: Path) -> Backend:
    model = JointMultiLabelClassifier.load(folder)
    notes = model.notes_
    return Backend(model, notes["label_names"], None if notes.get("text") else notes["feature_names"])


def trained(epochs: int) -> Backend:
    names = ["drums", "guitar", "piano", "rock", "quiet"]
    texts = ["loud and fast", "a calm evening", "loud guitars at night", "soft keys", "fast drums", "slow and calm"] * 8
    sets = [[1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1]] * 8
    texts = [f"{text} {k % 7}" for k, text in enumerate(texts)]
    model = JointMultiLabelClassifier("binary-relevance", folds=2, n_iter_no_change=epochs, random_state=0)
    return Backend(model.fit(texts, np.array(sets)), names, None)


CONFIG = '<View><Text name="text" value="$body"/><Choices name="labels" toName="text" choice="multiple"/></View>'

if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "10"
    if not asked.isdigit():
        import uvicorn

        uvicorn.run(application(loaded(Path(asked))), host="127.0.0.1", port=9090, log_level="warning")
        sys.exit()
    backend = trained(int(asked))
    for context in (None, {"result": [{"from_name": "labels", "value": {"choices": ["guitar"]}}]}):
        body = {"tasks": [{"data": {"body": "an evening at night"}}], "label_config": CONFIG, "params": {"context": context}}
        chosen = backend.predict(body)["results"][0]["result"][0]["value"]["choices"]
        print("nothing ticked:" if context is None else "guitar ticked:", *chosen)
