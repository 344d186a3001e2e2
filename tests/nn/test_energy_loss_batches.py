"""Which batches an update of the drop-in loss trains on, and what becomes of them when the loss is moved, copied or loaded."""

import copy
import pickle
import warnings

import pytest
import torch
from tests.configured import energy_loss
from torch.utils.checkpoint import checkpoint

from enstruct import nn
from enstruct.errors import ConfigError, EnstructWarning

SIZES = (3, 5, 1, 4)
PLACES = {"labels": (), "tags": (6,), "masks": (8, 8)}


def rows(outputs, n, seed=0):
    """Logits, y and features of ``n`` rows; 2 classes, features 5 wide, and a part without a truth."""
    rng = torch.Generator().manual_seed(seed)
    places = PLACES[outputs]
    shape = (2, *places) if outputs == "masks" else (*places, 2)
    logits = torch.randn(n, *shape, generator=rng, dtype=torch.float64)
    y = torch.randint(2, (n, *places) if places else (n, 2), generator=rng)
    if places:
        y[:, -1] = -100
    wide = (5, *places) if outputs == "masks" else (*places, 5)
    return logits, y, torch.randn(n, *wide, generator=rng, dtype=torch.float64)


def criterion(outputs="labels", method="seal-margin", **changes):
    torch.manual_seed(0)
    return energy_loss(5, 2, method, task=outputs, energy_learning_rate=0.02, **changes).double()


def weights(loss):
    return [p.detach().clone() for p in loss.energy.parameters()]


def pieces(given, sizes=SIZES):
    return zip(*(part.split(sizes) for part in given), strict=True)


@pytest.mark.parametrize(("outputs", "method"), [*((kind, "seal-margin") for kind in PLACES), ("labels", "seal-regression")])
def test_an_update_trains_on_all_micro_batches_as_on_the_joined_one(outputs, method):
    small, joined = criterion(outputs, method, energy_clip=0.1), criterion(outputs, method, energy_clip=0.1)
    for step in range(3):
        given = rows(outputs, sum(SIZES), seed=step)
        for piece in pieces(given):
            small(*piece)
        joined(*given)
        torch.testing.assert_close(small.update(), joined.update())
    torch.testing.assert_close(weights(small), weights(joined))
    assert small.n_updates == small.learned.updates == 3


def test_micro_batches_of_sentences_may_be_of_different_lengths():
    small, joined = criterion("tags"), criterion("tags")
    logits, y, features = rows("tags", 6)
    y[:3, 4:] = -100
    small(logits[:3, :4], y[:3, :4], features[:3, :4])
    small(logits[3:], y[3:], features[3:])
    joined(logits, y, features)
    torch.testing.assert_close(small.update(), joined.update())
    torch.testing.assert_close(weights(small), weights(joined))


def test_what_an_update_has_trained_on_is_done_with():
    used, fresh = criterion(), criterion()
    for piece in pieces(rows("labels", sum(SIZES))):
        used(*piece)
    used.update()
    fresh.load_state_dict(used.state_dict())
    for loss in (used, fresh):
        loss(*rows("labels", 4, seed=9))
        loss.update()
    assert all(torch.equal(a, b) for a, b in zip(weights(used), weights(fresh), strict=True))


def test_accumulating_does_not_disturb_the_loss_or_its_gradient():
    logits, y, features = rows("labels", 8)
    results = []
    for earlier in (0, 3):
        loss = criterion(warmup=0)
        for _ in range(earlier):
            loss(*rows("labels", 2, seed=5))
        leaf = logits.clone().requires_grad_()
        value = loss(leaf, y, features)
        torch.manual_seed(1)
        loss(*rows("labels", 2, seed=6))  # gathers the batch between its forward and its backward pass
        value.backward()
        assert all(p.grad is None for p in loss.parameters())
        results.append((value.item(), leaf.grad))
    assert results[0][0] == results[1][0]
    assert torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("supervised", ["cross-entropy", "ranking"])
def test_a_forward_pass_repeated_by_a_checkpoint_counts_once(reentrant, together, supervised):
    """And what it repeats is the same: the energy's gradients that are gathered are no part of it."""
    loss, plain = (criterion(supervised=supervised, warmup=0) for _ in range(2))  # ranking draws
    for step in range(2):
        values, leaves = [], []
        for seed in range(3):
            logits, y, features = rows("labels", 2 + seed, seed=10 * step + seed)
            leaves.append((logits.requires_grad_(), logits.detach().clone().requires_grad_()))
            torch.manual_seed(seed)
            values.append(checkpoint(loss, logits, y, features, use_reentrant=reentrant))
            torch.manual_seed(seed)
            plain(leaves[-1][1], y, features).backward()
            if not together:
                values[-1].backward()
        if together:
            sum(values).backward()
        assert (loss._n_seen, loss._before.rows + len(loss._seen[1])) == (3, 9)
        loss.update()
        plain.update()
        torch.testing.assert_close(weights(loss), weights(plain))
        for mine, wanted in leaves:
            torch.testing.assert_close(mine.grad, wanted.grad)


def test_memory_holds_one_batch_and_one_gradient():
    loss = criterion()
    for seed in range(20):
        loss(*rows("labels", 4, seed=seed))
    batch, logits = loss._seen
    assert (len(logits), len(batch.x), loss._before.rows) == (4, 4, 19 * 4)
    assert [g.shape for g in loss._before.gradient if g is not None] == [p.shape for p in loss.energy.parameters()]


@pytest.mark.parametrize("quiet", ["eval", "no_grad"])
def test_passes_without_learning_add_nothing(quiet):
    plain, interrupted = criterion(), criterion()
    for loss in (plain, interrupted):
        for seed in range(2):
            loss(*rows("labels", 4, seed=seed))
            if loss is interrupted:
                loss.train(quiet != "eval")
                with torch.set_grad_enabled(quiet != "no_grad"):
                    loss(*rows("labels", 4, seed=7))
                loss.train()
        loss.update()
    assert all(torch.equal(a, b) for a, b in zip(weights(plain), weights(interrupted), strict=True))
    alone = criterion().train(quiet != "eval")
    with torch.set_grad_enabled(quiet != "no_grad"):
        alone(*rows("labels", 4))
    with pytest.raises(ConfigError, match="before update"):
        alone.update()


@pytest.mark.parametrize(
    "changes", [{"energy_steps": 2}, {"negatives": "cost-augmented"}, {}], ids=["steps", "augmented", "second call"]
)
def test_batches_that_are_let_go_cannot_be_gone_over_again(changes):
    loss = criterion(**changes)
    loss(*rows("labels", 4))
    loss.update()
    loss.update()  # a single batch can
    for seed in range(2):
        loss(*rows("labels", 4, seed=seed))
    if not changes:
        loss.update()
    with pytest.raises(ConfigError, match=r"2 batches came since the last update.*call update\(\) once after every batch"):
        loss.update()


def test_batches_seen_by_a_frozen_energy():
    """It keeps the last one, for who freezes the energy around his forward pass; several are more than an update can use."""
    loss = criterion()
    for _ in range(2):
        loss.energy.requires_grad_(False)
        loss(*rows("labels", 4))
        loss.energy.requires_grad_(True)
        loss.update()
    loss.energy.requires_grad_(False)
    for seed in range(3):
        loss(*rows("labels", 4, seed=seed))
    assert loss._before is None
    loss.energy.requires_grad_(True)
    with pytest.raises(ConfigError, match="no frozen energy"):
        loss.update()
    loss(*rows("labels", 4, seed=8))
    loss.update()
    assert loss.n_updates == 3


def test_no_update_ever_is_noticed_once(monkeypatch):
    assert nn.UNUSED >= 100
    monkeypatch.setattr(nn, "UNUSED", 5)
    loss, frozen = criterion(), criterion()
    frozen.energy.requires_grad_(False)
    given = rows("labels", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            loss(*given)
        loss.eval()
        loss(*given)
        loss.train()
        with torch.no_grad():
            loss(*given)
    with pytest.warns(EnstructWarning, match=r"5 batches in training mode and not one update\(\)") as found:
        loss(*given)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(9):
            loss(*given)
            frozen(*given)
        loss.update()
        for _ in range(9):  # an energy that has learnt may be accumulated for long
            loss(*given)


@pytest.mark.parametrize("outputs", PLACES)
@pytest.mark.parametrize("many", [1, 3])
def test_batches_move_and_are_cast_with_the_loss(outputs, many):
    """Between a forward pass and its update."""
    loss, stayed = criterion(outputs), criterion(outputs)
    for seed in range(many):
        for each in (loss, stayed):
            each(*rows(outputs, 4, seed=seed))
    loss.float()
    assert loss.update() == pytest.approx(stayed.update(), rel=1e-5)
    loss.double()
    loss(*rows(outputs, 4))
    loss.update()
    assert all(p.dtype == torch.float64 for p in loss.parameters())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("changes", [{}, {"negatives": "cost-augmented"}], ids=["point", "augmented"])
def test_a_copy_goes_on_by_itself(copied, changes):
    loss = criterion(**changes)

    def further(one):
        torch.manual_seed(3)
        for seed in range(3):
            one(*rows("labels", 4, seed=seed))
            one.update()
        return weights(one)

    further(loss)
    loss(*rows("labels", 4, seed=7))  # not yet trained on
    if not changes:
        loss(*rows("labels", 4, seed=8))
    twin = copied(loss)
    before = weights(twin)
    loss.update()
    wanted = further(loss)
    assert all(torch.equal(a, b) for a, b in zip(weights(twin), before, strict=True))
    twin.update()
    assert all(torch.equal(a, b) for a, b in zip(further(twin), wanted, strict=True))


def test_a_loaded_state_forgets_batches_of_other_weights():
    loss = criterion()
    state = copy.deepcopy(loss.state_dict())
    for seed in range(2):
        loss(*rows("labels", 4, seed=seed))
    loss.load_state_dict(state)
    with pytest.raises(ConfigError, match="before update"):
        loss.update()


@pytest.mark.parametrize("outputs", PLACES)
def test_float16_under_a_gradient_scaler(outputs):
    """The scale is the network's alone: the energy's step is that of an unscaled loss."""
    logits, y, features = (part.float() if part.is_floating_point() else part for part in rows(outputs, 4))
    after = []
    for scale in (1.0, 2.0**10):
        loss = criterion(outputs, warmup=0).float()
        leaf = logits.clone().requires_grad_()
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        optimizer = torch.optim.SGD([leaf], 0.1)
        value = loss(leaf.half(), y, features.half())
        assert value.dtype == torch.float32
        scaler.scale(value).backward()
        scaler.step(optimizer)
        scaler.update()
        loss.update()
        after.append((leaf.detach(), weights(loss)))
    torch.testing.assert_close(after[0][0], after[1][0], atol=2e-3, rtol=1e-2)
    assert all(torch.equal(a, b) for a, b in zip(after[0][1], after[1][1], strict=True))


def test_a_checkpoint_whose_forward_pass_had_no_gradients_comes_after_others():
    """Its batch is first seen in the backward pass."""
    loss, plain = criterion(), criterion()
    for checkpointed in (False, True):
        logits, y, features = rows("labels", 4, seed=int(checkpointed))
        given = (logits.requires_grad_(), y, features)
        (checkpoint(loss, *given, use_reentrant=True) if checkpointed else loss(*given)).backward()
        plain(*given)
        torch.testing.assert_close(loss.update(), plain.update())
    torch.testing.assert_close(weights(loss), weights(plain))


def test_cost_augmented_source_is_saved_too():
    a, b = (criterion(negatives="cost-augmented") for _ in range(2))
    a(*rows("labels", 4))
    a.update()
    kept = {name: value for name, value in a.state_dict().items() if name.startswith("source.")}
    assert kept
    assert not all(torch.equal(value, b.state_dict()[name]) for name, value in kept.items())
    b.load_state_dict(a.state_dict())
    assert all(torch.equal(value, b.state_dict()[name]) for name, value in kept.items())
