"""The drop-in loss in somebody's own loop."""

import copy
import dataclasses

import numpy as np
import pytest
import torch
from tests.configured import energy_loss

from enstruct import METHODS, EnergyLoss, EnergySpec
from enstruct.errors import ConfigError, DataError, DivergenceError
from enstruct.methods.tags import TAG_METHODS


class Sum(torch.nn.Module):
    def forward(self, features, y):
        return y.sum(-1)


def loop(criterion, steps, seed=0):
    torch.manual_seed(seed)
    net = torch.nn.Linear(6, 5)
    head = torch.nn.Linear(5, 3)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
    x, y = torch.randn(20, 6), (torch.rand(20, 3) < 0.5).float()
    losses = []
    for _ in range(steps):
        features = torch.relu(net(x))
        loss = criterion(head(features), y, features)
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is None for p in criterion.parameters())
        optimizer.step()
        criterion.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking", "seal-pl", "seal-margin", "seal-regression", "seal-regression-s"])
def test_trains_a_users_network(method):
    losses = loop(energy_loss(5, 3, method, energy_weight=0.1), 60)
    assert losses[-1] < losses[0]


def test_state_dict_includes_the_optimiser(tmp_path):
    a = EnergyLoss(5, 3)
    loop(a, 5)
    torch.save(a.state_dict(), tmp_path / "loss.pt")
    b = EnergyLoss(5, 3)
    b.load_state_dict(torch.load(tmp_path / "loss.pt", weights_only=True))
    assert b.learned.updates == 5
    assert loop(a, 5, seed=3) == loop(b, 5, seed=3)


def test_a_users_energy_module():
    class Mine(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(3))

        def forward(self, features, y):
            return (y * self.w).sum(-1)

    mine = Mine()
    before = mine.w.detach().clone()
    criterion = energy_loss(5, 3, "seal-margin", energy_network=mine, warmup=0, energy_weight=2.0)
    logits, y, features = torch.randn(4, 3), (torch.rand(4, 3) < 0.5).float(), torch.randn(4, 5)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(1)
    torch.testing.assert_close(criterion(logits, y, features), (entropy + 2 * torch.sigmoid(logits) @ before).mean())
    criterion.update()
    assert (mine.w != before).all()


def test_the_energy_s_weight_rises_over_the_warm_up():
    """At first the loss is cross-entropy alone, after so many updates the row's own."""
    torch.manual_seed(0)
    logits, features, y = torch.randn(4, 3), torch.randn(4, 5), torch.ones(4, 3)
    rising, whole = EnergyLoss(5, 3, warmup=2), EnergyLoss(5, 3, warmup=0)
    whole.energy.load_state_dict(rising.energy.state_dict())
    cross_entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(1).mean()
    first, last = rising(logits, y, features), whole(logits, y, features)
    torch.testing.assert_close(first, cross_entropy)
    rising.n_updates = 1
    torch.testing.assert_close(rising(logits, y, features), (first + last) / 2)
    rising.n_updates = 2
    torch.testing.assert_close(rising(logits, y, features), last)
    rising.update()
    again = EnergyLoss(5, 3, warmup=2)
    again.load_state_dict(rising.state_dict())
    assert again.n_updates == rising.n_updates == 3
    with pytest.raises(ConfigError, match="anchor_weight=0"):
        energy_loss(5, 3, anchor_weight=0.5)


def test_misuse_is_explained():
    with pytest.raises(ConfigError, match="one-stage"):
        EnergyLoss(5, 3, "cross-entropy")
    with pytest.raises(ConfigError, match="Did you mean 'seal-nce'"):
        EnergyLoss(5, 3, "seal-nec")
    criterion = EnergyLoss(5, 3)
    with pytest.raises(ConfigError, match="before update"):
        criterion.update()
    with pytest.raises(DataError, match=r"features must be \(batch, 5\)"):
        criterion(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 4))
    for wrong in (0.05, -1.0, -100.0, float("nan")):
        with pytest.raises(DataError, match="0 and 1 alone"):
            criterion(torch.zeros(2, 3), torch.full((2, 3), wrong), torch.zeros(2, 5))
    with pytest.raises(ConfigError, match="no parameters"):
        EnergyLoss(5, 3, energy_network=Sum())
    for rates in ({"energy_clip": -1.0}, {"energy_learning_rate": 0.0}):
        with pytest.raises(ConfigError, match="must be positive"):
            energy_loss(5, 3, **rates)


@pytest.mark.parametrize("features", [torch.float64, torch.bfloat16, torch.float32])
def test_other_precisions_than_the_energy_s(features):
    criterion = EnergyLoss(5, 3)
    given = torch.randn(4, 5).to(features)
    head = torch.nn.Linear(5, 3, dtype=features)
    loss = criterion(head(given), torch.ones(4, 3), given)
    loss.backward()
    assert head.weight.grad.dtype == features
    criterion.update()


def test_under_autocast_and_without_gradients_around_the_update():
    criterion, head = EnergyLoss(5, 3), torch.nn.Linear(5, 3)
    before = [p.clone() for p in criterion.energy.parameters()]
    with torch.autocast("cpu", torch.bfloat16):
        features = torch.randn(4, 5)
        loss = criterion(head(features), torch.ones(4, 3), features)
        criterion.update()
    assert loss.dtype == torch.float32
    loss.backward()
    with torch.no_grad():
        criterion.update()
    assert any(not torch.equal(a, b) for a, b in zip(before, criterion.energy.parameters(), strict=True))


def tag_batch(n=16, time=6, seed=0):
    """The tag of a token is that of the token before it, whose own features show it; the last tokens are padding."""
    rng = torch.Generator().manual_seed(seed)
    shown = torch.randint(3, (n, time), generator=rng)
    y = torch.cat([torch.zeros(n, 1, dtype=torch.int64), shown[:, :-1]], dim=1)
    y[:, -1] = -100
    features = torch.nn.functional.one_hot(shown, 3).float()
    return torch.cat([features, torch.cat([torch.zeros(n, 1, 3), features[:, :-1]], dim=1)], dim=-1), y


@pytest.mark.parametrize("method", ["seal-nce", "seal-margin", "seal-regression-s", "infnet+"])
def test_tags_in_ones_own_loop(method):
    if method == "infnet+":
        with pytest.raises(ConfigError, match="stacked"):
            EnergyLoss(6, 3, method, task="tags")
        return
    torch.manual_seed(0)
    head = torch.nn.Linear(6, 3)
    criterion = EnergyLoss(6, 3, method, task="tags", energy_learning_rate=0.02)
    optimizer = torch.optim.Adam(head.parameters(), 0.05)
    features, y = tag_batch()
    for _ in range(60):
        loss = criterion(head(features), y, features)
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is None for p in criterion.energy.parameters())
        optimizer.step()
        criterion.update()
    found = head(features).argmax(-1)
    assert (found == y)[y >= 0].float().mean() > 0.95


def test_ignored_tokens_change_nothing():
    torch.manual_seed(0)
    criterion = EnergyLoss(6, 3, "seal-margin", task="tags", warmup=0)
    features, y = tag_batch()
    logits = torch.randn(16, 6, 3)
    other = logits.clone()
    other[:, -1] = 9.0
    moved = features.clone()
    moved[:, -1] = -5.0
    assert torch.allclose(criterion(logits, y, features), criterion(other, y, moved))
    short = criterion(logits[:, :-1], y[:, :-1], features[:, :-1])
    assert torch.allclose(criterion(logits, y, features), short, atol=1e-5)


def test_bad_tags():
    criterion = EnergyLoss(6, 3, task="tags")
    features, y = tag_batch()
    logits = torch.zeros(16, 6, 3)
    for arguments, what in [
        ((logits[0], y, features), r"logits must be \(batch, time, 3\)"),
        ((logits, y[:, 1:], features), r"y must be \(batch, time\)"),
        ((logits, y.float(), features), "whole numbers"),
        ((logits, y + 2, features), "another"),
        ((logits, y, features[..., 1:]), "features"),
    ]:
        with pytest.raises(DataError, match=what):
            criterion(*arguments)
    with pytest.raises(ConfigError, match="labels"):
        EnergyLoss(6, 3, task="trees")
    with pytest.raises(ConfigError, match="one-stage"):
        EnergyLoss(6, 3, "crf", task="tags")


def mask_batch(n=12, size=8):
    """A square on noise: features (n, 3, size, size) show it, y (n, size, size) says where it is; the border has no truth."""
    torch.manual_seed(0)
    y = torch.zeros(n, size, size, dtype=torch.int64)
    y[:, 2:6, 2:6] = 1
    features = torch.randn(n, 3, size, size) * 0.3 + y.unsqueeze(1)
    y[:, 0] = -100
    return features, y


@pytest.mark.parametrize("method", ["seal-nce", "seal-margin", "seal-regression-s"])
def test_masks_in_ones_own_loop(method):
    torch.manual_seed(0)
    head = torch.nn.Conv2d(3, 2, 1)
    criterion = EnergyLoss(3, 2, method, task="masks", energy_learning_rate=0.01)
    optimizer = torch.optim.Adam(head.parameters(), 0.1)
    features, y = mask_batch()
    for _ in range(30):
        loss = criterion(head(features), y, features)
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is None for p in criterion.energy.parameters())
        optimizer.step()
        criterion.update()
    assert (head(features).argmax(1) == y)[y >= 0].float().mean() > 0.9


def test_the_supervised_part_for_masks_is_torch_s_own():
    features, y = mask_batch()
    logits = torch.randn(12, 2, 8, 8)
    with pytest.raises(ConfigError, match="two at least"):
        EnergyLoss(3, 1, task="masks")
    criterion = EnergyLoss(3, 2, "seal-margin", task="masks")  # the energy's weight begins at 0
    criterion.learned.method = dataclasses.replace(
        criterion.learned.method, predictor_loss=dataclasses.replace(criterion.learned.method.predictor_loss, energy_weight=0.0)
    )
    assert torch.allclose(criterion(logits, y, features), torch.nn.functional.cross_entropy(logits, y))


def test_bad_masks():
    criterion = EnergyLoss(3, 2, task="masks")
    features, y = mask_batch()
    logits = torch.zeros(12, 2, 8, 8)
    assert len({float(criterion(logits, y.clamp(min=0).to(kind), features)) for kind in (torch.uint8, torch.int64)}) == 1
    for arguments, what in [
        ((logits[:, :1], y, features), r"logits must be \(batch, 2, height, width\); it is \(12, 1, 8, 8\)"),
        ((logits, y[:, 1:], features), r"y must be \(batch, height, width\)"),
        ((logits, y + 1, features), "another"),
        ((logits, y, features[:, :2]), "features"),
    ]:
        with pytest.raises(DataError, match=what):
            criterion(*arguments)


def label_batch(n=8):
    torch.manual_seed(0)
    return torch.randn(n, 3, requires_grad=True), (torch.rand(n, 3) < 0.4).float(), torch.randn(n, 5)


class Mine(torch.nn.Module):
    """An energy of one's own: linear in y, with what trains differently than it answers."""

    def __init__(self, squeezed=True):
        super().__init__()
        self.norm, self.scores, self.drop = torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3), torch.nn.Dropout(0.5)
        self.squeezed = squeezed

    def forward(self, x, y):
        energy = (y * self.scores(self.drop(self.norm(x))).unsqueeze(1)).sum(-1)
        return energy if self.squeezed else energy.unsqueeze(-1)


def test_an_update_before_backward_is_noticed():
    """Its gradient would be that of another energy than the loss had."""
    logits, y, features = label_batch()
    criterion = EnergyLoss(5, 3, warmup=0)
    loss = criterion(logits, y, features)
    criterion.update()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_loaded_state_is_a_copy():
    logits, y, features = label_batch()

    def further(criterion):
        torch.manual_seed(1)
        for _ in range(5):
            criterion(logits, y, features)
            last = criterion.update()
        return last

    criterion = EnergyLoss(5, 3, energy_learning_rate=0.1)
    further(criterion)
    best = copy.deepcopy(criterion.state_dict())
    criterion.load_state_dict(best)
    first = further(criterion)
    criterion.load_state_dict(best)
    assert further(criterion) == first


def test_evaluation_mode_repeats_and_trains_nothing():
    logits, y, features = label_batch()
    criterion = EnergyLoss(5, 3, energy_network=Mine(), warmup=0)
    criterion(logits, y, features)
    seen = criterion._seen
    before = copy.deepcopy(criterion.state_dict())
    criterion.eval()
    with torch.no_grad():
        values = [float(criterion(logits, y, features)) for _ in range(3)]
    assert len(set(values)) == 1
    assert all(torch.equal(v, before[k]) for k, v in criterion.state_dict().items() if isinstance(v, torch.Tensor))
    assert criterion._seen is seen
    criterion.train()
    assert criterion(logits, y, features).item() != values[0]  # dropout


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_cast_after_training_and_with_an_energy_of_ones_own(dtype):
    logits, y, features = label_batch()
    for energy in (None, Mine()):
        criterion = EnergyLoss(5, 3, energy_network=energy)
        criterion(logits, y, features)
        criterion.update()
        criterion.to(dtype)
        criterion(logits, y, features).backward()
        criterion.update()
        state = criterion.learned.optimizers["energy"].state
        assert {s["exp_avg"].dtype for s in state.values()} == {dtype}


def test_tags_and_masks_rise_over_a_warm_up_too():
    """Their games begin, in the library, with a stage of cross-entropy that here is the caller's, if there was one."""
    assert EnergyLoss(6, 3, task="tags").learned.method.predictor_loss.warmup == 500
    assert EnergyLoss(6, 3, task="tags", warmup=0).learned.method.predictor_loss.warmup == 0
    assert EnergyLoss(6, 3, task="tags", warmup=None).learned.method.predictor_loss.warmup == 500
    row = TAG_METHODS["seal-nce"]
    for warmup in (0, 100):  # a method of one's own says what it says
        mine = dataclasses.replace(row, name="mine", predictor_loss=dataclasses.replace(row.predictor_loss, warmup=warmup))
        assert EnergyLoss(6, 3, mine, task="tags").learned.method.predictor_loss.warmup == warmup
    masks = EnergyLoss(6, 3, task="masks").learned.method
    assert (masks.name, masks.predictor_loss.warmup) == ("seal-regression-s", 300)


def test_ruled_out_tags_cost_nothing():
    torch.manual_seed(0)
    logits = torch.randn(2, 4, 3)
    logits[..., 2] = -torch.inf
    logits.requires_grad_()
    y = torch.tensor([[0, 1, 0, -100], [1, 1, 0, 0]])
    criterion = EnergyLoss(6, 3, task="tags")  # the energy's weight begins at 0
    loss = criterion(logits, y, torch.randn(2, 4, 6))
    reference = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum") / 2
    torch.testing.assert_close(loss, reference)
    (gradient,) = torch.autograd.grad(loss, logits)
    (wanted,) = torch.autograd.grad(reference, logits)
    torch.testing.assert_close(gradient, wanted)
    criterion.update()
    y[0, 0] = 2  # ruled out, and true
    assert criterion(logits, y, torch.randn(2, 4, 6)).item() == float("inf")


def test_slips_are_explained():
    logits, y, features = label_batch()
    bad = EnergyLoss(5, 3, energy_network=Mine(squeezed=False), warmup=0)
    with pytest.raises(ConfigError, match=r"\(8, 1\); Mine gives \(8, 1, 1\)"):
        bad(logits, y, features)
    with pytest.raises(DataError, match="empty"):
        EnergyLoss(5, 3)(logits[:0], y[:0], features[:0])
    with pytest.raises(DataError, match="empty"):
        EnergyLoss(6, 3, task="tags")(torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.int64), torch.zeros(2, 0, 6))
    lost = EnergyLoss(5, 3)
    with pytest.raises(DivergenceError, match="logits hold NaN"):
        lost(logits.detach() * torch.nan, y, features)
    with pytest.raises(DataError, match="y must be a tensor, not ndarray"):
        lost(logits, y.numpy(), features)
    with pytest.raises(ConfigError, match="features_dim must be a whole number from 1 on"):
        EnergyLoss(0, 3)
    with pytest.raises(ConfigError, match="ignore_index=2 is a class"):
        EnergyLoss(5, 3, task="masks", ignore_index=2)
    still = EnergyLoss(5, 3)
    still(logits, y, features)
    still.requires_grad_(False)
    with pytest.raises(ConfigError, match="No parameter of the energy learns"):
        still.update()
    with pytest.raises(ConfigError, match='"tag-lm" learns from all tags first'):
        EnergyLoss(6, 3, task="tags", energy_network=EnergySpec(("local", "chain", "tag-lm")))
    for wrong in (Mine, "mlp"):
        with pytest.raises(ConfigError, match="not its class"):
            EnergyLoss(5, 3, energy_network=wrong)
    with pytest.raises(ConfigError, match="energy_weight must be a finite number"):
        energy_loss(5, 3, energy_weight=float("nan"))
    with pytest.raises(ConfigError, match="warmup must be a finite number"):
        EnergyLoss(5, 3, warmup=float("nan"))
    for name, value in {"predictor_steps": 2, "rounds_per_batch": 2, "update_first": "predictor"}.items():
        with pytest.raises(ConfigError, match=f"takes no {name}"):
            energy_loss(5, 3, **{name: value})


def test_reductions_are_torch_s_and_leave_the_energy_alone():
    torch.manual_seed(0)
    logits, y, features = torch.randn(4, 3), (torch.rand(4, 3) < 0.5).float(), torch.randn(4, 5)
    energies = []
    values = {}
    for reduction in ("none", "sum", "mean"):
        torch.manual_seed(1)
        criterion = EnergyLoss(5, 3, "seal-margin", reduction=reduction, warmup=0)
        values[reduction] = criterion(logits, y, features).detach()
        criterion.update()
        energies.append(torch.cat([p.detach().flatten() for p in criterion.parameters()]))
    assert values["none"].shape == (4,)
    torch.testing.assert_close(values["none"].sum(), values["sum"])
    torch.testing.assert_close(values["none"].mean(), values["mean"])
    assert torch.equal(energies[0], energies[1])
    assert torch.equal(energies[0], energies[2])


def test_what_stands_where_there_is_no_truth_can_be_chosen():
    torch.manual_seed(0)
    logits, y, features = torch.randn(2, 4, 3), torch.randint(3, (2, 4)), torch.randn(2, 4, 6)
    y[0, 2:] = -100
    losses = []
    for index in (-100, 7):
        torch.manual_seed(1)
        criterion = EnergyLoss(6, 3, task="tags", ignore_index=index, warmup=0)
        losses.append(criterion(logits, y.where(y >= 0, index), features))
    torch.testing.assert_close(*losses)
    with pytest.raises(DataError, match="or 7 where there is no truth"):
        criterion(logits, y, features)


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("outputs", "called task="),
        ("energy", "called energy_network="),
        ("learning_rate", "called energy_learning_rate="),
        ("clip", r"with_\(energy_clip="),
        ("energy_weight", r"with_\(energy_weight="),
        ("hypergradient", r"with_\(coupling="),
    ],
)
def test_former_names_are_refused_with_those_of_now(name, now):
    with pytest.raises(ConfigError, match=now):
        EnergyLoss(5, 3, **{name: 1})
    with pytest.raises(TypeError, match="no argument 'nonsense'"):
        EnergyLoss(5, 3, nonsense=1)


def test_a_frozen_energy_has_its_full_weight_at_once():
    torch.manual_seed(0)
    logits, y, x = torch.randn(5, 4), (torch.rand(5, 4) < 0.5).float(), torch.randn(5, 3)
    frozen = EnergyLoss(3, 4)
    moving = EnergyLoss(3, 4, warmup=0)
    moving.load_state_dict(frozen.state_dict())
    frozen.energy.requires_grad_(False)
    torch.testing.assert_close(frozen(logits, y, x), moving(logits, y, x))
    assert not torch.allclose(frozen(logits, y, x), EnergyLoss(3, 4)(logits, y, x))


def test_candidates_are_sought_in_the_energy_s_own_precision():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 4).double()

        def forward(self, x, y):
            return (self.linear(x).unsqueeze(1) * y).sum(-1)

    criterion = EnergyLoss(3, 4, METHODS["seal-margin"].with_(negatives="cost-augmented"), Own(), warmup=0)
    logits, y, x = torch.randn(5, 4, requires_grad=True), (torch.rand(5, 4) < 0.5).float(), torch.randn(5, 3)
    criterion(logits, y, x).backward()
    assert np.isfinite(criterion.update())
