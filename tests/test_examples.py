"""Examples and the README run."""

import ast
import json
import re
import runpy
import shlex
import sys
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli.commands import build_parser
from enstruct.cli.main import main
from enstruct.export import export_onnx
from enstruct.objectives.base import Scores
from enstruct.objectives.ranking import nce_loss
from enstruct.spaces import LabelSpace

ROOT = Path(__file__).parents[1]
FROM_SCRATCH = ROOT / "examples" / "seal_from_scratch.py"
LIBRARY_F1 = 82.5
"""Of EnergyMultiLabelClassifier("seal-nce", hidden=200, max_epochs=60, n_iter_no_change=60, decision="fixed", monitor="fixed",
random_state=0) on the rows of FROM_SCRATCH, with block_exclusive(200, seed=3) as validation rows."""


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_runs(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(script), "2"])
    with suppress(SystemExit):
        runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    assert len(script.read_text().splitlines()) < 150


def test_the_gallery_shows_every_example():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"\{literalinclude\} \.\./examples/(\w+\.py)", page)
    assert set(shown) == {path.name for path in (ROOT / "examples").glob("*.py")}
    assert len(re.findall(r"^```text\n.+\n", page, re.M)) == len(shown)  # what each printed


def test_from_scratch_takes_nothing_of_enstruct_but_data():
    tree = ast.parse(FROM_SCRATCH.read_text(encoding="utf-8"))
    modules = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("enstruct")} == {"enstruct.data.synthetic"}
    assert len(FROM_SCRATCH.read_text(encoding="utf-8").splitlines()) <= 120


def test_from_scratch_has_the_library_s_formulas():
    script = runpy.run_path(str(FROM_SCRATCH))
    torch.manual_seed(0)
    logits, truth = torch.randn(3, 16), (torch.rand(3, 16) < 0.5).float()
    x, energy = torch.randn(3, 64), script["Energy"]().eval()
    torch.manual_seed(1)
    loss = script["nce_ranking_loss"](energy, x, truth, logits)
    torch.manual_seed(1)
    samples = torch.bernoulli(torch.sigmoid(logits).unsqueeze(1).expand(-1, script["SAMPLES"], -1))
    space, candidates = LabelSpace(16), torch.cat([truth.unsqueeze(1), samples], dim=1)
    energies, noise = energy(x, candidates), space.log_prob(candidates, logits)
    scores = Scores(energies[:, 0], energies[:, 1:], None, noise[:, 0], noise[:, 1:])
    torch.testing.assert_close(loss, nce_loss(scores).mean())
    torch.testing.assert_close(script["cross_entropy"](logits, truth), space.supervised_loss(logits, truth).mean())


def test_from_scratch_comes_close_to_the_library():
    script = runpy.run_path(str(FROM_SCRATCH))
    assert script["f1_on_fresh_rows"](script["EPOCHS"], script["WEIGHT"]) == pytest.approx(LIBRARY_F1, abs=4)


def readme_blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.usefixtures("quick_joints", "quick_fields", "quick_bases")
def test_readme_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = readme_blocks("python")
    assert len(blocks) == 4
    names = {}  # a reader goes on where the block before has ended
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


@pytest.mark.usefixtures("quick_joints", "quick_bases", "pages_end_at_once")
def test_readme_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in readme_blocks("bash") for line in block.splitlines() if line.startswith("enstruct ")]
    assert len(lines) == 8
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        shorten = {"train": ["--base", "binary-relevance"], "data": ["--rows", "300"]}.get(arguments[0], [])
        assert main(arguments + shorten) == 0, capsys.readouterr().err


def test_commands_that_the_readme_mentions_are_understood():
    mentioned = re.findall(r"`(enstruct [^`]+--[^`]+)`", (ROOT / "README.md").read_text())
    assert len(mentioned) == 4
    for line in mentioned:
        build_parser().parse_args(shlex.split(line)[1:])


def test_the_server_answers_rows_of_one_class_and_says_what_is_wrong(tmp_path):
    """What its own question does not ask: classes, other widths, missing numbers, folders without a model."""
    served = runpy.run_path(str(ROOT / "examples" / "serve.py"))["server"]
    with pytest.raises(SystemExit, match=r"holds no model\.onnx"):
        served(tmp_path, 0)
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = EnergyMultiLabelClassifier("binary-relevance").fit(X, np.array(list("abc"))[X.argmax(1)])
    export_onnx(model, tmp_path / "served")
    with served(tmp_path / "served", 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()

        def ask(question):
            return urllib.request.urlopen(f"http://127.0.0.1:{running.server_port}", json.dumps(question).encode())

        with ask({"features": X[:5].tolist()}) as reply:
            assert json.load(reply)["label_sets"] == [[one] for one in model.predict(X[:5].astype(np.float32))]
        for wrong in ({}, {"features": [[1, 2]]}, {"features": [[None, 1, 2]]}, {"features": [["a", 1, 2]]}):
            with pytest.raises(urllib.error.HTTPError, match="400") as refused:
                ask(wrong)
            with refused.value as answer:
                assert "error" in json.load(answer)
        running.shutdown()
