"""A server for an exported model of rows of numbers: onnxruntime and Python's own http.server, and nothing of enstruct.

    enstruct export model served
    python examples/serve.py served     # POST {"features": [[0.5, 1.0, ...], ...]} to http://127.0.0.1:8000; null is missing

With a number in the place of the folder a small model is trained for so many epochs, exported, and asked one question.
"""

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


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    if not (folder / "model.onnx").is_file():
        sys.exit(f"{folder} holds no model.onnx: write one by `enstruct export MODEL {folder}`.")
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    about = session.get_modelmeta().custom_metadata_map
    if session.get_inputs()[0].name != "features" or "labels" not in about or "texts" in about:
        sys.exit(f"{folder} is no model of rows of numbers: this example serves label sets, and classes of one label a row.")
    labels, width = json.loads(about["labels"]), session.get_inputs()[0].shape[1]
    p_and_answer = [output.name for output in session.get_outputs()]  # probabilities; label_sets, or class of one label a row

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                X = np.array(asked["features"], dtype=np.float32)  # null is NaN, which the graph fills as training did
                if X.ndim != 2 or X.shape[1] != width or np.isinf(X).any():
                    raise ValueError
            except (KeyError, TypeError, ValueError):
                return self.answer(400, {"error": f'POST {{"features": rows of {width} numbers, null where one is missing}}'})
            p, chosen = session.run(p_and_answer, {"features": X})
            if np.isnan(p).any():
                return self.answer(
                    400, {"error": "no number may be missing: the model was trained on rows that have all of them"}
                )
            sets = [[labels[i] for i in (np.flatnonzero(row) if chosen.ndim == 2 else [row])] for row in chosen]
            return self.answer(200, {"label_sets": sets, "probabilities": [[round(float(one), 4) for one in row] for row in p]})

        def answer(self, status: int, content: dict[str, Any]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *arguments: Any) -> None:
            """Silence."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else "30"
    if not wanted.isdigit():
        server(Path(wanted), 8000).serve_forever()
    from enstruct import EnergyMultiLabelClassifier
    from enstruct.data.synthetic import block_exclusive
    from enstruct.export import export_onnx

    rows = block_exclusive(600, seed=1)
    model = EnergyMultiLabelClassifier("seal-nce", hidden=100, max_epochs=int(wanted), random_state=0).fit(rows.X, rows.Y)
    with tempfile.TemporaryDirectory() as place:
        export_onnx(model, Path(place, "served"), decision="expected-f1")
        with server(Path(place, "served"), 0) as running:
            threading.Thread(target=running.serve_forever, daemon=True).start()
            question = json.dumps({"features": np.linspace(-1, 1, 64)[None].round(3).tolist()}).encode()
            with urllib.request.urlopen(f"http://127.0.0.1:{running.server_port}", question) as reply:
                print("labels", *json.load(reply)["label_sets"][0])
            running.shutdown()
