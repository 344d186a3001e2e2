"""A server for an exported model: onnxruntime and Python's own http.server, and nothing of enstruct.

    enstruct export model served
    python examples/serve.py served     # POST {"features": [[...], ...]} to http://127.0.0.1:8000

With a number in the place of the folder a small model is trained for so many epochs, exported, and asked one question.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


class Handler(BaseHTTPRequestHandler):
    session: onnxruntime.InferenceSession  # of the server's folder
    labels: list[Any]

    def do_POST(self) -> None:
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            X = np.asarray(body["features"], dtype=np.float32)
            if X.ndim != 2 or not np.isfinite(X).all():
                raise ValueError("features: rows of finite numbers, as [[0.5, 1.0]]")
            p, chosen = self.session.run(["probabilities", "label_sets"], {"features": X})
        except Exception as error:  # whatever a client has sent: it is told, and the server goes on
            self.answer(400, {"error": str(error)[:300]})
            return
        sets = [[self.labels[i] for i in np.flatnonzero(row)] for row in chosen]
        self.answer(200, {"label_sets": sets, "probabilities": p.round(4).tolist()})

    def answer(self, status: int, content: dict[str, Any]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *arguments: Any) -> None:
        """Silence."""


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    Handler.session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    Handler.labels = json.loads(Handler.session.get_modelmeta().custom_metadata_map["labels"])
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def trained(epochs: int, folder: Path) -> Path:
    from enstruct import EnergyMultiLabelClassifier
    from enstruct.data.synthetic import block_exclusive
    from enstruct.export import export_onnx

    rows = block_exclusive(600, seed=1)
    model = EnergyMultiLabelClassifier("seal-nce", hidden=100, max_epochs=epochs, random_state=0).fit(rows.X, rows.Y)
    export_onnx(model, folder / "served", decision="expected-f1")
    return folder / "served"


if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "30"
    if not asked.isdigit():
        server(Path(asked), 8000).serve_forever()
    with tempfile.TemporaryDirectory() as place, server(trained(int(asked), Path(place)), 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        question = json.dumps({"features": np.linspace(-1, 1, 64)[None].round(3).tolist()}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{running.server_port}", question) as reply:
            print("labels", *json.load(reply)["label_sets"][0])
        running.shutdown()
