"""What the drop-in loss refuses to be given: numbers that are none."""

import copy

import pytest
import torch

from enstruct import EnergyLoss
from enstruct.errors import DataError, DivergenceError

BAD = {"NaN": torch.nan, "inf": torch.inf}


def given(outputs, n=4):
    torch.manual_seed(0)
    if outputs == "labels":
        return torch.randn(n, 3), (torch.rand(n, 3) < 0.4).float(), torch.randn(n, 5)
    if outputs == "tags":
        return torch.randn(n, 6, 3), torch.randint(3, (n, 6)), torch.randn(n, 6, 5)
    return torch.randn(n, 3, 8, 8), torch.randint(3, (n, 8, 8)), torch.randn(n, 5, 8, 8)


@pytest.mark.parametrize("outputs", ["labels", "tags", "masks"])
@pytest.mark.parametrize("held", [*BAD, "-inf"])
@pytest.mark.parametrize("warmup", [0, 5])
def test_features_that_are_not_finite(outputs, held, warmup):
    """Whether or not the energy reads them yet."""
    criterion = EnergyLoss(5, 3, task=outputs, warmup=warmup)
    logits, y, features = given(outputs)
    features[1, 2] = BAD.get(held, -torch.inf)
    for training in (True, False):
        with pytest.raises(DataError, match=f"features hold {held.lstrip('-')}.*finite") as found:
            criterion.train(training)(logits, y, features)
        assert len(str(found.value)) <= 300
    assert criterion._seen is None  # it is not kept for an update


@pytest.mark.parametrize("outputs", ["labels", "tags", "masks"])
@pytest.mark.parametrize("held", BAD)
def test_logits_that_are_not_finite(outputs, held):
    criterion = EnergyLoss(5, 3, task=outputs)
    logits, y, features = given(outputs)
    logits[1, 2, ...] = BAD[held]
    with pytest.raises(DivergenceError, match=f"logits hold {held}: those given to the loss must be finite") as found:
        criterion(logits, y, features)
    assert len(str(found.value)) <= 300


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64])
def test_numbers_of_another_kind(dtype):
    logits, y, features = given("labels")
    with pytest.raises(DataError, match=f"logits must be real floating-point numbers; they are {dtype}"):
        EnergyLoss(5, 3)(logits.to(dtype), y, features)
    with pytest.raises(DataError, match="features must be real"):
        EnergyLoss(5, 3)(logits, y, features.to(dtype))


def test_sparse_label_sets_are_refused():
    logits, y, features = given("labels")
    with pytest.raises(DataError, match=r"y must be a dense tensor.*y.to_dense\(\)"):
        EnergyLoss(5, 3)(logits, y.to_sparse(), features)


def test_float16_logits_that_overflow():
    logits, y, features = given("labels")
    with pytest.raises(DivergenceError, match=r"logits hold inf.*overflows a low precision"):
        EnergyLoss(5, 3)((logits * 1e6).half(), y, features.half())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_large_finite_numbers_are_numbers(dtype):
    logits, y, features = given("labels")
    criterion = EnergyLoss(5, 3, warmup=0)  # so that the energy reads the features
    features[0, 0], features[1, 1] = 6e4, -6e4
    found = criterion(logits.to(dtype), y, features.to(dtype))
    expected = criterion(logits.to(dtype).float(), y, features.to(dtype).float())
    torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("outputs", "axis"), [("tags", -1), ("masks", 1)])
def test_all_classes_of_a_place_ruled_out(outputs, axis):
    """One that has a truth, that is: elsewhere it is padding."""
    criterion = EnergyLoss(5, 3, task=outputs)
    logits, y, features = given(outputs)
    some = logits.clone()
    some.select(axis, 2).fill_(-torch.inf)
    y = y.clamp(max=1)
    nearly = some.clamp(min=-1e4)
    torch.testing.assert_close(criterion(some, y, features), criterion(nearly, y, features))
    (logits[0, 0] if outputs == "tags" else logits[0, :, 0, 0]).fill_(-torch.inf)
    with pytest.raises(DivergenceError, match="-inf for every class of a place"):
        criterion(logits, y, features)
    y.view(len(y), -1)[0, 0] = -100
    torch.testing.assert_close(criterion(logits, y, features), criterion(logits.nan_to_num(neginf=0.0), y, features))


def test_a_label_ruled_out():
    logits, y, features = given("labels")
    logits[0, 0] = -torch.inf
    with pytest.raises(DivergenceError, match="logits hold -inf"):
        EnergyLoss(5, 3)(logits, y, features)


@pytest.mark.parametrize("held", BAD)
@pytest.mark.parametrize("outputs", ["tags", "masks"])
def test_places_without_a_truth_may_hold_anything(held, outputs):
    torch.manual_seed(0)
    criterion = EnergyLoss(5, 3, "seal-margin", task=outputs, warmup=0)
    logits, y, features = given(outputs)
    y[:, -1] = -100
    blank = (y < 0).unsqueeze(1 if outputs == "masks" else -1)
    twin, clean = copy.deepcopy(criterion), logits.clone().requires_grad_()
    expected = twin(clean, y, features.masked_fill(blank, 0.0))  # pixels beside them do see features
    expected.backward()
    holed = logits.masked_fill(blank, BAD[held]).requires_grad_()
    found = criterion(holed, y, features.masked_fill(blank, BAD[held]))
    found.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(holed.grad, clean.grad)
    assert criterion.update() == pytest.approx(twin.update())


def test_targets_that_are_not_finite():
    logits, y, features = given("labels")
    for wrong in (torch.nan, torch.inf):
        y[1, 1] = wrong
        with pytest.raises(DataError, match="y must hold 0 and 1 alone"):
            EnergyLoss(5, 3)(logits, y, features)
