"""Folders of models: what may be replaced, what is read, and what damaged files may cost."""

import hashlib
import json
import os
import resource
import threading

import pytest
import torch
from safetensors.torch import load_file, save_file

from enstruct import EnergyMultiLabelClassifier
from enstruct.encoders import Forest
from enstruct.errors import ModelFileError
from enstruct.estimators.persistence import check_place

SMALL = {"hidden": 8, "layers": 1, "max_epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def model(blocks):
    return EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(blocks.X, blocks.Y)


def tree(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", ["model.json", "auto.json"])
@pytest.mark.parametrize("content", ['{"class_name": "Sequential"}', "{", "[]", '{"format": 1, "parameters": {}}'])
def test_a_foreign_folder_with_a_file_of_our_name_stays(content, name, model, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / name).write_text(content)
    (project / "thesis.tex").write_text("x")
    before = tree(tmp_path)
    with pytest.raises(ModelFileError, match="project"):
        model.save(project)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("make", ["file", "folder", "link", "file of our name as a folder"])
def test_what_users_put_into_a_model_s_folder_stays(make, model, tmp_path):
    model.save(tmp_path / "m")
    odd = tmp_path / "m" / "notes"
    if make == "file":
        odd.write_text("mine")
    elif make == "folder":
        odd.mkdir()
    elif make == "link":
        odd.symlink_to(tmp_path)
    else:
        odd = tmp_path / "m" / "weights.safetensors"
        odd.unlink()
        odd.mkdir()
        (odd / "mine").write_text("x")
    before = tree(tmp_path)
    with pytest.raises(ModelFileError, match=odd.name):
        model.save(tmp_path / "m")
    assert tree(tmp_path) == before
    assert odd.exists()


def test_another_estimator_s_model_stays(model, blocks, tmp_path):
    class Mine(EnergyMultiLabelClassifier):
        pass

    Mine("seal-nce", **SMALL).fit(blocks.X, blocks.Y).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="holds a Mine"):
        model.save(tmp_path / "m")
    assert isinstance(Mine.load(tmp_path / "m"), Mine)


def test_a_model_of_its_own_kind_is_replaced_through_a_link(model, blocks, tmp_path):
    other = EnergyMultiLabelClassifier("cross-entropy", **SMALL).fit(blocks.X, blocks.Y)
    model.save(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    other.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert EnergyMultiLabelClassifier.load(tmp_path / "real").method == "cross-entropy"


def test_a_place_that_is_tried_keeps_no_trace(tmp_path):
    check_place(tmp_path / "a" / "b" / "m", "EnergyMultiLabelClassifier")
    assert not list(tmp_path.iterdir())


def test_a_reader_meets_whole_models_while_others_save(model, blocks, tmp_path):
    other = EnergyMultiLabelClassifier("cross-entropy", **SMALL).fit(blocks.X, blocks.Y)
    model.save(tmp_path / "m")
    stop = threading.Event()

    def save():
        while not stop.is_set():
            for each in (other, model):
                each.save(tmp_path / "m")

    saver = threading.Thread(target=save)
    saver.start()
    try:
        methods = {EnergyMultiLabelClassifier.load(tmp_path / "m").method for _ in range(60)}
    finally:
        stop.set()
        saver.join()
    assert methods == {"seal-nce", "cross-entropy"}


def test_loading_moves_nobody_s_random_numbers(model, tmp_path):
    model.save(tmp_path / "m")
    before = torch.get_rng_state()
    EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
@pytest.mark.parametrize("odd", ["device", "pipe", "folder"])
def test_what_is_no_regular_file_is_not_read(name, odd, model, tmp_path):
    model.save(tmp_path / "m")
    path = tmp_path / "m" / name
    path.unlink()
    if odd == "device":
        path.symlink_to("/dev/zero")
    elif odd == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(ModelFileError, match="regular file"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")


def test_headers_beyond_all_bounds_are_refused(model, tmp_path, monkeypatch):
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    path.write_text("[" * 100_000)
    with pytest.raises(ModelFileError, match="damaged"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")
    path.write_text('{"format": ' + "9" * 5000 + "}")
    with pytest.raises(ModelFileError, match="damaged"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")
    monkeypatch.setattr("enstruct.estimators.persistence.LARGEST_HEADER", 1000)
    with pytest.raises(ModelFileError, match="more than 1000 bytes"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")


@pytest.mark.parametrize("changes", [{"hidden": 10**9}, {"layers": 10**5}, {"hidden": 9}])
def test_networks_that_the_weights_are_not_of_take_no_memory(changes, model, tmp_path):
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    header = json.loads(path.read_text())
    header["parameters"] |= changes
    path.write_text(json.dumps(header))
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError):
        EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin < 200_000  # kB


def test_trees_that_would_lead_in_circles_are_refused(blocks, tmp_path):
    model = EnergyMultiLabelClassifier("extra-trees", random_state=0).fit(blocks.X, blocks.Y)
    forest = model.predictor_
    tensors = {name: value.clone() for name, value in forest.state_dict().items()}
    n_features, n_labels = blocks.X.shape[1], len(forest.shift)
    Forest.restored(tensors, n_features, n_labels)
    inner = int(torch.nonzero(forest.left != torch.arange(len(forest.left)))[3])
    for name, at, wrong in [
        ("left", inner, 0),
        ("right", inner, len(forest.left)),
        ("feature", inner, -1),
        ("members", 0, 10**6),
        ("size", 0, -1),
        ("roots", 0, -1),
        ("labels_columns", 0, n_labels),
        ("labels_rows", 1, -1),
    ]:
        damaged = {**tensors, name: tensors[name].clone()}
        damaged[name][at] = wrong
        with pytest.raises(ValueError, match=r"trees|node|leaf"):
            Forest.restored(damaged, n_features, n_labels)
    with pytest.raises(ValueError, match="no trees"):
        Forest.restored({**tensors, "roots": tensors["roots"][:0]}, n_features, n_labels)
    with pytest.raises(ValueError, match="not of 17 labels"):
        Forest.restored(tensors, n_features, n_labels + 1)


def corrected(path):
    """The header says of the weights what they are now, as whoever changes them on purpose would see to."""
    header = json.loads((path / "model.json").read_text())
    header["weights"] = hashlib.sha256((path / "weights.safetensors").read_bytes()).hexdigest()
    (path / "model.json").write_text(json.dumps(header))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("predictor", float("nan"), "no finite number"),
        ("predictor", float("inf"), "no finite number"),
        ("scaler/scale", 0.0, "not above 0"),
    ],
)
def test_weights_that_nothing_can_be_computed_with_are_refused(name, value, message, model, tmp_path):
    model.save(tmp_path / "m")
    tensors = load_file(tmp_path / "m" / "weights.safetensors")
    key = next(key for key in sorted(tensors) if key.startswith(name) and tensors[key].is_floating_point())
    tensors[key].view(-1)[0] = value
    save_file(tensors, tmp_path / "m" / "weights.safetensors")
    corrected(tmp_path / "m")
    with pytest.raises(ModelFileError, match=message):
        EnergyMultiLabelClassifier.load(tmp_path / "m")


def test_half_a_character_in_a_header_is_refused(model, tmp_path):
    model.save(tmp_path / "m")
    header = json.loads((tmp_path / "m" / "model.json").read_text())
    header["notes"] = "\ud800"
    (tmp_path / "m" / "model.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError, match="damaged"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")


def test_masks_in_modules_of_others_may_be_infinite(blocks, tmp_path):
    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(blocks.X.shape[1], 8)
            self.register_buffer("mask", torch.tensor([0.0, float("-inf")]))
            self.features_dim = 8

        def forward(self, x):
            return self.layer(x)

    model = EnergyMultiLabelClassifier("seal-nce", encoder=Masked(), max_epochs=1, random_state=0).fit(blocks.X, blocks.Y)
    model.save(tmp_path / "m")
    again = EnergyMultiLabelClassifier.load(tmp_path / "m", encoder=Masked())
    assert (again.predict_proba(blocks.X) == model.predict_proba(blocks.X)).all()
