"""An exported model of texts, answered by onnxruntime and nothing of enstruct: what a server makes of texts before the graph.

    enstruct train reviews.csv --text body --labels genre --out model
    enstruct export model served
    python examples/answer_texts.py served < new.txt      # a text a line

Terms (terms.json) need scikit-learn, an encoder's tokens (tokenizer.json) the package tokenizers. With a number in the place of
the folder a small model is trained on so many texts, exported, and asked one question.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime


def terms_of(texts: list[str], file: Path) -> np.ndarray:
    """(texts, terms) tf-idf, as scikit-learn counts and weighs."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    told, blocks = json.loads(file.read_text(encoding="utf-8")), []
    for kind, terms in told["terms"].items():
        analyzer = {"words": "word", "characters": "char_wb"}[kind]
        columns = {term: i for i, term in enumerate(terms)}
        block = TfidfVectorizer(analyzer=analyzer, ngram_range=tuple(told[kind]), sublinear_tf=True, vocabulary=columns)
        block.idf_ = np.array(told["idf"][kind])
        blocks.append(block.transform(texts).toarray())
    return (np.hstack(blocks) / np.sqrt(len(blocks))).astype(np.float32)


def tokens_of(texts: list[str], file: Path) -> np.ndarray:
    """(texts, longest) numbers of tokens, -1 behind a text's end."""
    from tokenizers import Tokenizer

    numbers = [one.ids for one in Tokenizer.from_file(str(file)).encode_batch(texts)]
    longest = max(1, *map(len, numbers))
    return np.array([own + [-1] * (longest - len(own)) for own in numbers])


def answers(folder: Path, texts: list[str]) -> list[list[str]]:
    """The label set of each text."""
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    makers = {"features": (terms_of, "terms.json"), "tokens": (tokens_of, "tokenizer.json")}
    inputs = {one.name: makers[one.name][0](texts, folder / makers[one.name][1]) for one in session.get_inputs()}
    _, chosen = session.run(None, inputs)  # behind the probabilities: label sets, or the class of one label a row
    labels = json.loads(session.get_modelmeta().custom_metadata_map["labels"])
    return [[labels[i] for i in (np.flatnonzero(row) if chosen.ndim == 2 else [row])] for row in chosen]


if __name__ == "__main__":
    place = sys.argv[1] if len(sys.argv) > 1 else "60"
    if not place.isdigit():
        texts = sys.stdin.read().splitlines()
        for found in answers(Path(place), texts) if texts else []:
            print("; ".join(map(str, found)))
        sys.exit()
    from enstruct import EnergyMultiLabelClassifier
    from enstruct.export import export_onnx

    bodies = [
        "wheat and corn prices rise",
        "gold falls",
        "corn exports",
        "gold and silver mines",
        "wheat harvest",
        "silver price",
    ]
    topics = [["grain", "price"], ["metal"], ["grain"], ["metal"], ["grain"], ["metal", "price"]]
    times = max(1, int(place) // len(bodies))
    model = EnergyMultiLabelClassifier("binary-relevance", random_state=0).fit(bodies * times, topics * times)
    with tempfile.TemporaryDirectory() as folder:
        export_onnx(model, Path(folder, "served"))
        print("labels", *answers(Path(folder, "served"), ["corn and wheat"])[0])
