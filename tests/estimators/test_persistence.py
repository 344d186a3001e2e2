"""Saved models: the same answers, no code, nothing half-written."""

import json
from dataclasses import dataclass, is_dataclass, replace

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.configured import configured

import enstruct.hypergradients
import enstruct.inference
import enstruct.negatives
from enstruct import METHODS, EnergyMultiLabelClassifier, JointMultiLabelClassifier
from enstruct.baselines import fit_one_vs_rest
from enstruct.errors import ConfigError, ModelFileError, SaveError
from enstruct.estimators.saved_values import decode_parameter, encode_parameter
from enstruct.files import replace_file
from enstruct.hypergradients import Alternating, Coupling
from enstruct.inference import AdamOnLogits, Exact, Inference, MirrorDescent, ProjectedAdam, ProjectedGradient, Solver, Unrolled
from enstruct.negatives import InferencePoint, Negatives, PerturbedSamples, UnrolledIterates, ValueTuples

SMALL = {"hidden": 8, "layers": 1, "max_epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def model(blocks):
    return EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(blocks.X, blocks.Y)


def test_names_sparse_inputs_and_notes_survive(blocks, tmp_path):
    X = sparse.csr_matrix(np.maximum(blocks.X, 0) * 3)
    names = [[blocks.label_names[j] for j in row.indices] for row in blocks.Y]
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(X, names)
    model.save(tmp_path / "m", {"from": "a test"})
    loaded = EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert loaded.predict(X) == model.predict(X)
    assert loaded.notes_ == {"from": "a test"}
    loaded.save(tmp_path / "again")
    assert EnergyMultiLabelClassifier.load(tmp_path / "again").predict(X) == model.predict(X)


@pytest.mark.parametrize(
    ("method", "negatives"),
    [
        ("spen", InferencePoint(Inference(MirrorDescent(0.2, 0.5), ("predictor", "uniform"), steps=3))),
        ("crf", InferencePoint(Exact("linear-program"))),
        ("dvn", ValueTuples(Inference(ProjectedGradient(0.3), steps=2, as_value=True))),
        ("dvn", ValueTuples(Inference(ProjectedAdam(0.3), starts=("zeros",), steps=2, as_value=True))),
        ("spen-e2e", UnrolledIterates(Unrolled(AdamOnLogits(0.1), steps=3), keep=2)),
    ],
)
def test_values_within_values_survive(method, negatives, blocks, tmp_path):
    model = configured(EnergyMultiLabelClassifier, method, negatives=negatives, **SMALL).fit(blocks.X[:80], blocks.Y[:80])
    model.save(tmp_path / "m")
    assert EnergyMultiLabelClassifier.load(tmp_path / "m").get_params()["method__negatives"] == negatives


def test_inference_is_a_parameter_that_survives(blocks, tmp_path):
    how = Inference(ProjectedAdam(0.05), ("random", "predictor"), steps=3)
    model = configured(EnergyMultiLabelClassifier, "nce", inference=how, **SMALL).fit(blocks.X[:80], blocks.Y[:80])
    model.save(tmp_path / "m")
    loaded = EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert loaded._method().inference == how
    with pytest.raises(ConfigError, match="answers by its predictor"):
        configured(EnergyMultiLabelClassifier, "seal-nce", inference=how).fit(blocks.X, blocks.Y)


def test_a_folder_holds_no_pickle(model, tmp_path):
    model.save(tmp_path / "m")
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["model.json", "weights.safetensors"]
    json.loads((tmp_path / "m" / "model.json").read_text())


def test_saving_twice_replaces_and_a_foreign_folder_is_left_alone(model, tmp_path):
    model.save(tmp_path / "m")
    model.save(tmp_path / "m")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    with pytest.raises(ModelFileError, match="not an enstruct model"):
        model.save(tmp_path / "other")
    assert (tmp_path / "other" / "thesis.txt").read_text() == "precious"


def test_what_ones_own_solver_fitted_is_not_guessed_at(blocks, tmp_path):
    def own(*given):
        return fit_one_vs_rest(*given)

    method = replace(METHODS["binary-relevance"], name="own", solver=own)
    model = EnergyMultiLabelClassifier(method).fit(blocks.X, blocks.Y)
    with pytest.raises(ConfigError, match="not one of enstruct's"):
        model.save(tmp_path / "m")
    EnergyMultiLabelClassifier("binary-relevance").fit(blocks.X, blocks.Y).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        EnergyMultiLabelClassifier.load(tmp_path / "m", method=method)


def test_negatives_and_couplings_of_ones_own_are_given_again(blocks, tmp_path):
    @dataclass(frozen=True)
    class Near(PerturbedSamples):
        n: int = 4

    class Patient(Alternating):
        pass

    for given in ({"negatives": Near()}, {"coupling": Patient()}):
        model = configured(EnergyMultiLabelClassifier, "seal-margin", **SMALL, **given).fit(blocks.X, blocks.Y)
        model.save(tmp_path / "m")
        with pytest.raises(ModelFileError, match="custom method"):
            EnergyMultiLabelClassifier.load(tmp_path / "m")
        loaded = EnergyMultiLabelClassifier.load(tmp_path / "m", method=model.method)
        np.testing.assert_array_equal(loaded.predict_proba(blocks.X), model.predict_proba(blocks.X))


def test_a_module_may_be_called_as_a_value_is(blocks, tmp_path):
    class Chain(torch.nn.Sequential):
        pass

    encoder = Chain(torch.nn.Linear(64, 6), torch.nn.Tanh())
    EnergyMultiLabelClassifier("seal-nce", **SMALL, encoder=encoder).fit(blocks.X, blocks.Y).save(tmp_path / "m")
    EnergyMultiLabelClassifier.load(tmp_path / "m", encoder=encoder)


def test_networks_of_other_settings_are_not_saved(blocks, tmp_path):
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(blocks.X, blocks.Y).set_params(hidden=4)
    with pytest.raises(ConfigError, match="made with another hidden"):
        model.save(tmp_path / "m")
    model.set_params(hidden=SMALL["hidden"], learning_rate=0.5).save(tmp_path / "m")
    assert EnergyMultiLabelClassifier.load(tmp_path / "m").learning_rate == 0.5


def test_a_solver_s_model_is_saved_whatever_networks_were_before(blocks, tmp_path):
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(blocks.X, blocks.Y)
    model.set_params(method="binary-relevance", hidden=16).fit(blocks.X, blocks.Y).save(tmp_path / "m")
    np.testing.assert_array_equal(
        EnergyMultiLabelClassifier.load(tmp_path / "m").predict_proba(blocks.X), model.predict_proba(blocks.X)
    )


def test_a_fit_that_fails_leaves_what_was_fitted(blocks):
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(blocks.X, blocks.Y)
    before, p = dict(vars(model)), model.predict_proba(blocks.X)
    with pytest.raises(ConfigError):
        model.set_params(learning_rate=-1.0).fit(blocks.X * 100, blocks.Y[:, :5])
    assert vars(model) == before | {"learning_rate": -1.0}
    np.testing.assert_array_equal(model.predict_proba(blocks.X), p)


def test_custom_modules_must_be_given_again(blocks, tmp_path):
    encoder = torch.nn.Sequential(torch.nn.Linear(64, 6), torch.nn.Tanh())
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL, encoder=encoder).fit(blocks.X, blocks.Y)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="custom encoder"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")
    loaded = EnergyMultiLabelClassifier.load(tmp_path / "m", encoder=encoder)
    np.testing.assert_array_equal(loaded.predict_proba(blocks.X), model.predict_proba(blocks.X))


def flip_last_byte(path):
    held = path.read_bytes()
    path.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))


def test_a_model_from_before_weights_had_a_digest_is_read(model, tmp_path, blocks):
    model.save(tmp_path / "m")
    header = json.loads((tmp_path / "m" / "model.json").read_text())
    assert len(header.pop("weights")) == 64
    (tmp_path / "m" / "model.json").write_text(json.dumps(header))
    np.testing.assert_array_equal(
        EnergyMultiLabelClassifier.load(tmp_path / "m").predict_proba(blocks.X), model.predict_proba(blocks.X)
    )


def edit(path, **changes):
    header = json.loads(path.read_text())
    path.write_text(json.dumps({**header, **changes}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: (m / "model.json").unlink(), "no model.json"),
        (lambda m: (m / "model.json").write_text("{"), "damaged"),
        (lambda m: (m / "model.json").write_text("[1]"), "not written by enstruct"),
        (lambda m: (m / "weights.safetensors").write_bytes(b"x"), "missing or damaged"),
        (lambda m: (m / "weights.safetensors").unlink(), "missing or damaged"),
        (lambda m: flip_last_byte(m / "weights.safetensors"), "damaged, or belongs to another"),
        (lambda m: edit(m / "model.json", format=99), "upgrade"),
        (lambda m: edit(m / "model.json", format=1), "fit it anew with this enstruct, or load it with that one"),
        (lambda m: edit(m / "model.json", estimator="EnergySegmenter"), "EnergySegmenter"),
        (lambda m: edit(m / "model.json", rules={"no-such": {}}), "no-such"),
        (lambda m: edit(m / "model.json", parameters={"hidden": 3}), "does not fit"),
    ],
)
def test_damaged_foreign_and_newer_folders_are_explained(damage, message, model, tmp_path):
    model.save(tmp_path / "m")
    damage(tmp_path / "m")
    with pytest.raises(ModelFileError, match=message):
        EnergyMultiLabelClassifier.load(tmp_path / "m")


def test_a_full_disk_leaves_the_old_model_and_no_trace(model, tmp_path, monkeypatch, blocks):
    model.save(tmp_path / "m")
    before = (tmp_path / "m" / "model.json").read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("enstruct.files.save_file", full)
    with pytest.raises(SaveError, match="No space left"):
        model.save(tmp_path / "m")
    with pytest.raises(SaveError, match="No space left"):
        model.save(tmp_path / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "model.json").read_bytes() == before


def test_a_failed_file_leaves_the_old_one(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("old")

    def fail(part):
        part.write_text("half")
        raise OSError("disk gone")

    with pytest.raises(SaveError, match="disk gone"):
        replace_file(path, fail)
    assert [p.name for p in tmp_path.iterdir()] == ["f.txt"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("ends", [KeyboardInterrupt, TypeError])
def test_whatever_ends_a_file_leaves_the_old_one_and_no_trace(ends, tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("old")

    def fail(part):
        part.write_text("half")
        raise ends

    with pytest.raises(ends):
        replace_file(path, fail)
    assert [p.name for p in tmp_path.iterdir()] == ["f.txt"]
    assert path.read_text() == "old"


def test_a_saved_folder_has_the_permissions_of_any_new_one(model, tmp_path):
    (tmp_path / "any").mkdir()
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "any").stat().st_mode


@pytest.mark.parametrize("change", [{"custom": None}, {"parameters": None}, {"rules": None}, {"labels": None}])
def test_a_description_that_lacks_something_is_explained(change, model, tmp_path):
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    header = json.loads(path.read_text())
    path.write_text(json.dumps({**header, **change}))
    with pytest.raises(ModelFileError, match=r"is damaged: .*`null` - at `\$\.|not written by"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")


def test_a_device_that_is_not_here_is_no_damage(model, tmp_path):
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    header = json.loads(path.read_text())
    header["parameters"]["device"] = "nowhere"
    path.write_text(json.dumps(header))
    with pytest.raises(ConfigError, match="none that torch knows"):
        EnergyMultiLabelClassifier.load(tmp_path / "m")
    assert EnergyMultiLabelClassifier.load(tmp_path / "m", device="cpu").device == "cpu"


def test_a_link_stays_and_what_it_leads_to_is_replaced(model, tmp_path, monkeypatch):
    model.save(tmp_path / "m-7")
    (tmp_path / "current").symlink_to("m-7")
    written = (tmp_path / "m-7" / "model.json").stat().st_mtime_ns
    model.save(tmp_path / "current")
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "m-7" / "model.json").stat().st_mtime_ns > written
    monkeypatch.chdir(tmp_path / "m-7")
    model.save(".")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["current", "m-7"]


@pytest.mark.parametrize("module", [enstruct.negatives, enstruct.inference, enstruct.hypergradients], ids=lambda m: m.__name__)
def test_every_value_that_a_column_may_hold_can_be_saved(module):
    """Those that are no bases: a row with a column of one's own is saved with it."""
    bases = (Negatives, Coupling, Solver)
    found = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, bases) and is_dataclass(cls) and cls not in bases
    ]
    assert found
    for cls in found:
        assert decode_parameter("x", encode_parameter("x", cls())) == cls()


def test_what_is_no_model_of_the_class_says_what_it_is(model, tmp_path):
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"a model of another class: it has model\.json, and no joint\.json"):
        JointMultiLabelClassifier.load(tmp_path / "m")
    with pytest.raises(ModelFileError, match="is a file, and a model is a folder"):
        EnergyMultiLabelClassifier.load(tmp_path / "m" / "model.json")
    with pytest.raises(ModelFileError, match="not an enstruct model folder"):
        EnergyMultiLabelClassifier.load(tmp_path)
