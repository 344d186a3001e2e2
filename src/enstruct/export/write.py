"""Files of ONNX: traced by torch's exporter, described in their metadata, held against the model before they are put in place."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from enstruct.encoders.text.precision import exactly
from enstruct.errors import ConfigError, EnstructError, MissingExtraError, ModelFileError
from enstruct.estimators import (
    AutoMultiLabelClassifier,
    EnergyMultiLabelClassifier,
    EnergySegmenter,
    EnergySequenceTagger,
    JointMultiLabelClassifier,
)
from enstruct.export.conditional import conditional_graph
from enstruct.export.graph import Arrays, Graph
from enstruct.export.labels import label_graph
from enstruct.export.masks import mask_graph
from enstruct.export.tags import tag_graph, vocabulary
from enstruct.export.texts import TERMS, TOKENIZER, ReadTexts
from enstruct.files import replace_folder
from enstruct.validation import check_whole

OPSET = 18
"""Of ONNX's operators: onnxruntime has it since 1.14 (2023)."""
SMALL = 512
"""Bytes of constants that are worked out."""
LARGE = 2**32
"""Elements of tensors of which those that are equal lie in a file once: what several models of a joint share."""
ROWS, EXAMPLE = 64, 3
"""Drawn to check a file with, and to trace a graph by."""
VOCABULARY = "vocabulary.json"
FILES = ("model.onnx", "conditional.onnx")
OWN = {*FILES, *(f"{name}.data" for name in FILES), VOCABULARY, TERMS, TOKENIZER}
"""What an export may hold; ``.data``: what torch writes beside a file that would be larger than ONNX has room for."""


@dataclass(frozen=True)
class Exported:
    """A file: its bytes, those of the weights in it, and on how many rows it was held against the model (of told labels, against
    mean field), with the largest difference of a probability. Decisions are equal on all of them."""

    path: Path
    size: int
    weights: int
    rows: int
    difference: float
    about: dict[str, str]


def export_onnx(
    model: Any, path: Path | str, *, decision: str | None = None, rows: int = ROWS, overwrite: bool = False
) -> list[Exported]:
    """The folder ``path`` with model.onnx; of a joint distribution conditional.onnx beside it, of a tagger vocabulary.json, of a
    model of texts terms.json, tokenizer.json or both (:mod:`enstruct.export.texts`).

    decision : a fitted rule in the place of the one in force.
    rows : drawn at random, on which the files must answer as the model does in single precision: probabilities to 1e-5 (with a
        pretrained encoder in it 1e-4), decisions the same. Of a joint model.onnx has the probabilities that it decides by, its
        base's, and conditional.onnx is held to mean field, to 1e-4, as ten steps carry roundings on: the joint itself enumerates
        or samples.
    overwrite : whether an export that is there is replaced; anything else never is.

    Whole or not at all. ConfigError for what is no fixed graph, MissingExtraError without onnx, EnstructError where an answer
    differs, SaveError.
    """
    check_whole(1, rows=rows)
    path = Path(path)
    _check_place(path, overwrite)
    runtime = _extras()
    graphs, beside = graphs_of(model, decision)
    out: list[Exported] = []

    def fill(folder: Path) -> None:
        for graph in graphs:
            file = folder / f"{graph.name}.onnx"
            _trace(graph, file, model)
            session = runtime.InferenceSession(str(file))
            largest = max(_check(graph, session, number) for number in {1, rows})
            tensors = {id(t): t for t in (*graph.module.parameters(), *graph.module.buffers())}
            weights = sum(t.numel() * t.element_size() for t in tensors.values())
            size = sum(each.stat().st_size for each in folder.glob(f"{file.name}*"))
            out.append(Exported(path / file.name, size, weights, rows, largest, dict(graph.about)))
        for name, content in beside.items():
            (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    replace_folder(path, fill, lambda there: _check_place(there, overwrite))
    return out


def graphs_of(model: Any, decision: str | None) -> tuple[list[Graph], dict[str, Any]]:
    """Of a fitted model, and the JSON files that lie beside them. NotFittedError."""
    if isinstance(model, EnergySequenceTagger):
        check_is_fitted(model)
        rule = model.decision_ if decision is None else decision
        return [tag_graph(model, rule)], {VOCABULARY: vocabulary(model, rule)}
    if isinstance(model, EnergySegmenter):
        return [mask_graph(model, decision)], {}
    if not isinstance(model, (AutoMultiLabelClassifier, EnergyMultiLabelClassifier, JointMultiLabelClassifier)):
        raise ConfigError(f"export takes a fitted model of enstruct's, not {type(model).__name__}.")
    check_is_fitted(model)
    graphs = [label_graph(model, decision)]
    joint = model if isinstance(model, JointMultiLabelClassifier) else getattr(model, "joint_", None)
    if joint is not None and joint.legality_ is None and joint.labels_.kind != "single":
        graphs.append(conditional_graph(joint))
    reader = getattr(joint or model, "text_", None)
    return graphs, {} if reader is None else ReadTexts(reader).beside()


def _extras() -> Any:
    """onnxruntime, once all that is needed is there."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"Exports need onnx, onnxscript and onnxruntime ({error}): pip install 'enstruct[export]'."
        ) from error
    return onnxruntime


def _check_place(path: Path, overwrite: bool) -> None:
    """ModelFileError unless nothing is there, or an export that may be replaced."""
    if not path.exists():
        return
    if not path.is_dir() or not (path / "model.onnx").is_file() or {entry.name for entry in path.iterdir()} - OWN:
        raise ModelFileError(f"{path} exists and is no export of enstruct's, or holds other files too: choose another place.")
    if not overwrite:
        raise ModelFileError(f"{path} holds an export already: choose another place, or overwrite=True (--overwrite).")


def _trace(graph: Graph, file: Path, model: Any) -> None:
    inputs = graph.draw(EXAMPLE, np.random.default_rng(1))
    lengths: dict[str, Any] = {}
    shapes = []
    for name in inputs:
        axes = graph.axes[name]
        shapes.append({axis: lengths.setdefault(label, torch.export.Dim(label, min=2)) for axis, label in axes.items()})
    arguments = tuple(torch.from_numpy(np.asarray(inputs[name])) for name in inputs)
    try:
        with torch.no_grad(), quiet():
            program: Any = torch.onnx.export(
                graph.module.cpu(),  # its encoder may be where the model answered last
                arguments,
                dynamo=True,
                opset_version=OPSET,
                input_names=list(inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=tuple(shapes),
                verbose=False,
                optimize=False,
            )
    except torch.onnx.OnnxExporterError as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise ConfigError(f"torch's exporter cannot trace this model's networks: {cause:.180}") from error
    _tidied(program.model)
    described = {
        "enstruct": version("enstruct"),
        "estimator": type(model).__name__,
        "opset": str(OPSET),
        "inputs": "finite, which is not checked",
        **graph.about,
    }
    if hasattr(model, "method"):
        described["method"] = str(getattr(model.method, "name", model.method))
    for node in program.model.graph.all_nodes():  # where in Python each came from: more bytes than small weights
        node.metadata_props.clear()
        node.name = node.doc_string = None
        for value in node.outputs:
            value.metadata_props.clear()
            if not value.is_graph_output():
                value.shape = value.type = None  # which whoever loads the file finds by itself
    program.model.metadata_props.clear()
    program.model.metadata_props.update(described)
    program.save(str(file), external_data=False)


def _tidied(graph: Any) -> None:
    """Without what nobody reads, and with small constants worked out. torch's own optimisation works out large ones too, into
    several times the weights, and takes as long as the tracing; onnxruntime optimises again when it loads the file."""
    from onnx_ir.passes import common
    from onnxscript import optimizer

    optimizer.fold_constants(graph, input_size_limit=SMALL, output_size_limit=SMALL)
    optimizer.remove_unused_nodes(graph)
    for tidy in (common.CommonSubexpressionEliminationPass(), common.DeduplicateInitializersPass(size_limit=LARGE)):
        tidy(graph)  # not the elimination of identities, which takes a loop's state of now for that of the step before
    optimizer.remove_unused_nodes(graph)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the exporter's remarks on packages that are not there, on its own past, and on what it cannot trace, at length."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _check(graph: Graph, session: Any, rows: int) -> float:
    """The largest difference of a number. EnstructError for one beyond the graph's tolerance, and for decisions that differ."""
    inputs = graph.draw(rows, np.random.default_rng(0))
    found: Arrays = dict(zip(graph.outputs, session.run(list(graph.outputs), dict(inputs)), strict=True))
    with exactly():
        wanted, largest = graph.answer(inputs), 0.0
    for name in graph.outputs:
        a, b = np.asarray(found[name]), np.asarray(wanted[name])
        if a.shape != b.shape:
            raise EnstructError(f"{graph.name}.onnx gives {name} {a.shape}, the model {b.shape}: not written.")
        if a.dtype.kind == "f":
            difference = float(np.abs(a - b).max(initial=0.0))
            if not difference <= graph.tolerance:  # nor where it is NaN
                raise EnstructError(
                    f"{graph.name}.onnx gives other {name} than the model does, by up to {difference:.2g}: not written."
                )
            largest = max(largest, difference)
        elif not np.array_equal(a, b):
            differing = int((a != b).reshape(len(a), -1).any(1).sum())
            raise EnstructError(
                f"{graph.name}.onnx decides otherwise than the model in {differing} of {len(a)} rows of {name}: not written."
            )
    return largest
