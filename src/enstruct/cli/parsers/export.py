"""Write a saved model as ONNX, to answer without enstruct: probabilities and decisions, with its preprocessing and its rule.

OUT becomes a folder with model.onnx: of label sets from features (rows, features), of tags from numbers of tokens, of masks from
images, of texts from their terms (terms.json says how these are counted), their tokens (tokenizer.json) or both. Of a joint
distribution it has the base's probabilities, by which label sets are decided, and conditional.onnx lies beside it, which takes
told labels too (mean field, ten steps); of a tagger vocabulary.json, by which words become numbers. Names of labels, the rule and
versions are in each file's metadata. Before anything is put in place each file must answer random rows like the model, and
conditional.onnx like mean field: probabilities to 1e-5 (told labels, and a pretrained encoder in it: 1e-4), decisions the same.
Methods that answer by inference on their energy have no such file. Needs `pip install enstruct[export]`.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("model", type=Path, help="folder written by `enstruct train`")
    p.add_argument("out", type=Path, help="folder to write")
    p.add_argument("--decision", type=str | None, default=None, help="another fitted decision rule than the model's own")
    p.add_argument("--rows", type=int, default=64, help="random rows to hold each file against the model with")
    shared.add_moved_encoder(p)
    add_overwrite(p)
    return p
