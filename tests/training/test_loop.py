"""The loop: schedules, stages, stopping, determinism, checkpoints."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.configured import configured

from enstruct.energies import EnergySpec
from enstruct.errors import DivergenceError, ModelFileError
from enstruct.estimators import network_classifier
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.inference import MirrorDescent, Unrolled
from enstruct.methods import METHODS
from enstruct.negatives import UnrolledIterates
from enstruct.objectives import RANK_MARGIN
from enstruct.randomness import repeatable
from enstruct.training import loop
from enstruct.training.batches import batches
from enstruct.training.callbacks import Callback
from enstruct.training.checkpoint import Checkpoint
from enstruct.training.loop import Loop

SMALL = {"hidden": 8, "layers": 1, "max_epochs": 4, "random_state": 0, "decision": "threshold"}


class Interrupt(Callback):
    """Stops training in the middle of an epoch, as Ctrl-C does."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_batch_end(self, loop):
        if loop.progress.epoch == self.epoch:
            raise KeyboardInterrupt


def fit(blocks, **settings):
    return configured(NetworkClassifier, **{**SMALL, **settings}).fit(blocks.X, blocks.Y)


def weights(model):
    return [*model.predictor_.state_dict().values(), *model.energy_.state_dict().values()]


def test_updates_follow_the_coupling(blocks):
    model = fit(blocks, max_epochs=1, energy_steps=3, predictor_steps=2, rounds_per_batch=2)
    batches = -(-240 // 32)
    assert model.updates_ == {"energy": batches * 6, "predictor": batches * 4}


def test_same_seed_same_weights_and_the_users_random_state_is_untouched(blocks):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first = fit(blocks)
    assert torch.equal(torch.rand(3), expected)
    second = fit(blocks)
    assert all(torch.equal(a, b) for a, b in zip(weights(first), weights(second), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights(first), weights(fit(blocks, random_state=1)), strict=True))


def test_order_of_the_rows_does_not_matter(blocks):
    first = fit(blocks)
    second = NetworkClassifier(**SMALL).fit(blocks.X[::-1], blocks.Y[::-1])
    assert all(torch.equal(a, b) for a, b in zip(weights(first), weights(second), strict=True))


def test_best_epoch_is_kept_and_training_stops_early(blocks):
    model = fit(blocks, max_epochs=60, n_iter_no_change=3)
    scores = [record["score"] for record in model.history_]
    assert len(scores) < 60
    assert max(scores[-3:]) <= max(scores[:-3]) + 1e-4


class Scripted:
    """A judge of two scores that peak at other epochs (2 and 4) and of a given choice."""

    def __init__(self, chosen):
        self.chosen, self.calls, self.candidates = chosen, 0, None

    def scores(self, answers, rows):
        self.calls += 1
        return {"early": -abs(self.calls - 2), "late": -abs(self.calls - 4)}

    def choose(self, candidates, rows):
        self.candidates = candidates
        return self.chosen


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_best_epoch_of_every_score_is_kept_and_the_judge_chooses(blocks, monkeypatch, chosen):
    judge, seen = Scripted(chosen), []

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            seen.append([p.detach().clone() for p in (*loop.game.predictor.parameters(), *loop.game.loss.network.parameters())])
            assert len(loop.progress.snapshots) <= 2

    monkeypatch.setattr(network_classifier, "LabelSetMonitor", lambda *args: judge)
    model = fit(blocks, max_epochs=20, n_iter_no_change=3, callbacks=[Watch()])
    assert len(seen) == 7  # three epochs after the later peak
    assert len(judge.candidates) == 2
    kept = [*model.predictor_.parameters(), *model.energy_.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(kept, seen[(2, 4)[chosen] - 1], strict=True))


def test_static_stages_freeze_what_they_say(blocks):
    seen = []

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            snapshot = [p.detach().clone() for p in (*loop.game.predictor.parameters(), *loop.game.loss.network.parameters())]
            seen.append((record["stage"], len(list(loop.game.predictor.parameters())), snapshot))

    model = fit(blocks, method="seal-static-nce", max_epochs=2, callbacks=[Watch()])
    assert [stage for stage, _, _ in seen] == [0, 0, 1, 1, 2, 2]
    for (stage, n, before), (after_stage, _, after) in itertools.pairwise(seen):
        if stage == after_stage:
            predictor_moved = any(not torch.equal(a, b) for a, b in zip(before[:n], after[:n], strict=True))
            energy_moved = any(not torch.equal(a, b) for a, b in zip(before[n:], after[n:], strict=True))
            assert (predictor_moved, energy_moved) == {0: (True, False), 1: (False, True), 2: (True, False)}[stage]
    assert model.updates_["predictor"] == model.updates_["energy"]  # the borrowed predictor's are not counted


@pytest.mark.parametrize("method", ["seal-nce", "seal-static-nce", "cross-entropy"])
@pytest.mark.parametrize("epoch", [0, 2])
def test_interrupted_and_resumed_equals_uninterrupted(blocks, tmp_path, method, epoch):
    path = tmp_path / "run.safetensors"
    whole = fit(blocks, method=method)
    with pytest.raises(KeyboardInterrupt):
        fit(blocks, method=method, callbacks=[Checkpoint(path), Interrupt(epoch)])
    resumed = fit(blocks, method=method, callbacks=[Checkpoint(path, resume=True)])
    for a, b in zip(whole.predictor_.state_dict().values(), resumed.predictor_.state_dict().values(), strict=True):
        assert torch.equal(a, b)

    def scores(model):
        return [record["score"] for record in model.history_]

    assert scores(whole) == scores(resumed)
    assert whole.updates_ == resumed.updates_


def test_a_checkpoint_of_another_run_is_refused(blocks, tmp_path):
    path = tmp_path / "run.safetensors"
    fit(blocks, max_epochs=1, callbacks=[Checkpoint(path)])
    with pytest.raises(ModelFileError, match="other settings"):
        fit(blocks, max_epochs=1, learning_rate=0.1, callbacks=[Checkpoint(path, resume=True)])
    for changes in ({"cost": "hamming-sum"}, {"dropout": 0.1}, {"metric": "macro-f1"}, {"hidden": 9}):
        with pytest.raises(ModelFileError, match="other settings"):
            fit(blocks, max_epochs=1, **changes, callbacks=[Checkpoint(path, resume=True)])
    fit(blocks, max_epochs=1, callbacks=[Checkpoint(path, resume=True)])  # this one is its own
    other = replace(blocks, Y=blocks.Y[:, ::-1])
    with pytest.raises(ModelFileError, match="other settings or data"):
        fit(other, max_epochs=1, callbacks=[Checkpoint(path, resume=True)])
    turned = replace(blocks, X=-blocks.X)
    for X in (turned.X, sparse.csr_matrix(turned.X)):
        with pytest.raises(ModelFileError, match="other settings or data"):
            fit(replace(turned, X=X), max_epochs=1, callbacks=[Checkpoint(path, resume=True)])
    path.write_bytes(b"garbage")
    with pytest.raises(ModelFileError, match="not a readable"):
        fit(blocks, callbacks=[Checkpoint(path, resume=True)])


@pytest.mark.parametrize("sparse_input", [False, True])
def test_a_fresh_predictor_is_wholly_fresh_and_the_waiting_energy_keeps_its_rate(blocks, sparse_input):
    first, later, rates = [], [], []

    class Watch(Callback):
        def on_train_begin(self, loop):
            first.extend(p.detach().clone() for p in loop.game.predictor.parameters())

        def on_batch_end(self, loop):
            if loop.progress.stage == 2 and not later:
                later.extend(p.detach().clone() for p in loop.game.predictor.parameters())

        def on_epoch_end(self, loop, record):
            if record["stage"] == 0:
                rates.append(loop.game.optimizers["energy"].param_groups[0]["lr"])

    X = sparse.csr_matrix(blocks.X.clip(min=0)) if sparse_input else blocks.X
    settings = {**SMALL, "method": "seal-static-nce", "max_epochs": 8, "n_iter_no_change": 3, "tol": 10.0, "learning_rate": 1e-3}
    NetworkClassifier(**settings, callbacks=[Watch()]).fit(X, blocks.Y)
    for a, b in zip(first, later, strict=True):
        assert (a - b).abs().max() < 1.5e-3  # one AdamW step from the first weights
    assert set(rates) == {1e-3}


@pytest.mark.parametrize("method", ["nce", "spen"])
@pytest.mark.parametrize("dropout", [False, True])
def test_a_predictor_that_does_not_learn_keeps_its_dropout_where_that_is_asked_for(method, dropout, blocks):
    dropping: dict[int, set[bool]] = {}
    means: dict[int, list[float]] = {}

    class Watch(Callback):
        def on_batch_end(self, loop):
            norm, layer = loop.game.predictor.encoder[1:3]
            dropping.setdefault(loop.progress.stage, set()).add(layer.training)
            means.setdefault(loop.progress.stage, []).append(float(norm.running_mean.sum()))

    encoder = torch.nn.Sequential(torch.nn.Linear(blocks.X.shape[1], 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5))
    encoder.out_features = 8
    negatives = replace(METHODS[method].negatives, dropout=dropout)
    settings = {"encoder": encoder, "energy_network": EnergySpec(features="separate"), "max_epochs": 1, "random_state": 0}
    clf = configured(NetworkClassifier, method, negatives=negatives, callbacks=[Watch()], **settings)
    clf.fit(blocks.X, blocks.Y)
    later = range(1, len(METHODS[method].stages))
    assert dropping[0] == {True}
    assert all(dropping[stage] == {dropout} for stage in later)
    assert len(set(means[0])) > 1
    assert all(len(set(means[stage])) == 1 for stage in later)  # nothing else of it trains


@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_last_step_beyond_all_numbers_is_told(blocks, early_stopping):
    """One step an epoch: its loss is taken before the weights have become infinite."""
    settings = SMALL | {"max_epochs": 1, "batch_size": 1000, "learning_rate": 1e38, "weight_decay": 1e5}
    with pytest.raises(DivergenceError, match=r"predictor's weights became infinite.*smaller learning rate"):
        NetworkClassifier("cross-entropy", **settings | {"decision": "auto"}, early_stopping=early_stopping).fit(
            blocks.X, blocks.Y
        )


@pytest.mark.parametrize(
    ("early_stopping", "scores", "kept"),
    [
        (True, (0.5, 0.5009, 0.5018, 0.5025), 3),  # each beats the last one by less than tol, the third the best by more
        (True, (0.5, 0.5009, 0.5008, 0.5009), 1),
        (False, (-100.0, -99.95, -99.92, -99.91), 1),  # of a loss it is a share
        (False, (-100.0, -99.95, -99.85, -99.8), 3),
    ],
)
def test_a_better_score_is_better_by_the_tolerance(early_stopping, scores, kept, blocks, monkeypatch):
    given = iter(scores)
    monkeypatch.setattr(Loop, "_scores", lambda self, stage, losses: {"score": next(given)})
    best = []

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            best[:] = [loop.progress.best_epoch["score"]]

    settings = {"max_epochs": 4, "n_iter_no_change": 4, "tol": 1e-3, "early_stopping": early_stopping, "callbacks": [Watch()]}
    fit(blocks, method="cross-entropy", **({"decision": "fixed"} | settings))
    assert best == [kept]


def test_the_rates_are_halved_every_so_many_epochs_without_a_better_score(blocks, monkeypatch):
    monkeypatch.setattr(Loop, "_scores", lambda self, stage, losses: {"score": 0.5})
    rates, plateaus = [], set()

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            rates.append(loop.game.optimizer.param_groups[0]["lr"])
            plateaus.add(loop.game.settings.plateau)

    fit(blocks, method="cross-entropy", max_epochs=10, n_iter_no_change=10, learning_rate=1e-3, callbacks=[Watch()])
    (plateau,) = plateaus
    assert 1 < plateau < 5
    assert rates == [1e-3 / 2 ** (stale // plateau) for stale in range(10)]  # the first epoch is the best


def test_the_objective_on_validation_rows_is_the_mean_over_rows(blocks):
    """Whatever batches they are cut into, and by the rows' weights."""
    found = []

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            rows = loop.train.take(np.arange(len(loop.train)).repeat(2)[:300])  # more than a batch of them
            weight = np.linspace(0, 2, len(rows)).astype(np.float32)
            rows = replace(rows, weight=weight)
            game = loop.game
            with repeatable(0, "cpu"), torch.no_grad():
                each = [game.loss.energy_loss(b, game.predictor.eval()(b.x)) for b in batches(rows, 256)]
            found.append((loop._energy_loss(rows), float((torch.cat(each) * torch.from_numpy(weight)).mean())))

    fit(blocks, max_epochs=1, callbacks=[Watch()])
    assert found[0][0] == pytest.approx(found[0][1], rel=1e-5)


RANKED = UnrolledIterates(Unrolled(MirrorDescent(0.5, 0.0), steps=3), keep=3, detached=True)
GUIDED = replace(METHODS["spen"], name="guided", negatives=RANKED, objective=RANK_MARGIN)


@pytest.mark.parametrize(
    ("method", "monitor", "watched"),
    [
        ("nce", "auto", {"objective"}),
        ("spen-from-scratch", "auto", {"objective"}),
        ("dvn", "auto", {"f1", "threshold", "decoded"}),
        (METHODS["dvn"].with_(watch_inference=False), "auto", {"objective"}),
        ("nce", "fixed", {"fixed"}),  # as published
        ("seal-static-nce", "fixed", {"objective"}),  # no inference to watch
        (GUIDED, "auto", {"f1", "threshold", "decoded"}),  # it learns from rewards
    ],
)
def test_what_watches_an_energy_that_learns_alone(method, monitor, watched, blocks):
    scores: dict[int, set[str]] = {}

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            stage = loop.game.method.stages[loop.progress.stage]
            scores.setdefault(int(stage.predictor), set()).update(loop.progress.best)

    fit(blocks, method=method, monitor=monitor, max_epochs=1, callbacks=[Watch()])
    assert scores[0] == watched
    if 1 in scores:
        assert scores[1] == ({"fixed"} if monitor == "fixed" else {"f1", "threshold", "decoded"})


def test_the_epoch_of_the_best_held_out_objective_is_kept(blocks):
    """At a rate at which it soon rises again; the same candidates at every epoch, so that it is the same number again."""
    history, final = [], []

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            if record["stage"] == 1:
                history.append(record["score"])

        def on_train_end(self, loop):
            final.append(-loop._energy_loss(loop.validation))

    fit(blocks, method="nce", learning_rate=0.03, max_epochs=30, n_iter_no_change=5, callbacks=[Watch()])
    best = int(np.argmax(history))
    assert 0 < best < len(history) - 1
    assert final == [pytest.approx(history[best], abs=2e-4)]
    assert final[0] > history[-1] + 1e-3


def test_inference_is_watched_where_rows_bring_a_reward(blocks):
    """Which is no truth that the objective could be held against."""
    watched = []

    class Watch(Callback):
        def on_train_end(self, loop):
            rewarded = replace(loop.validation, supervision=object())
            watched.extend([loop._watches_inference(loop.validation), loop._watches_inference(rewarded)])

    fit(blocks, method="nce", max_epochs=1, callbacks=[Watch()])
    assert watched == [False, True]


class Cycles(Callback):
    def __init__(self):
        self.cycles, self.rates = [], []

    def on_batch_end(self, loop):
        self.rates.append(loop.game.optimizer.param_groups[0]["lr"])

    def on_epoch_end(self, loop, record):
        self.cycles.append(loop.progress.cycle)


@pytest.mark.parametrize(
    ("losses", "lengths"),
    [
        ([1.0, 0.96], [13]),  # the second half lowers it by little: there is no more to learn
        ([1.0, 1.2], [13]),
        ([1.0, 0.94, 0.8, 0.77], [13, 26]),
        ([1.0, 0.8, 0.7, 0.5, 0.4, 0.1], [13, 26, 52]),  # and no longer than that
    ],
)
def test_cycles_go_on_while_the_loss_on_validation_rows_falls(losses, lengths, blocks, monkeypatch):
    left, watch = iter(losses), Cycles()
    monkeypatch.setattr(loop, "log_loss", lambda *_: next(left))
    monkeypatch.setattr(type(NetworkClassifier._task.budget), "cycle_epochs", lambda *_: 13)
    model = NetworkClassifier("cross-entropy", hidden=8, layers=1, random_state=0, decision="threshold", callbacks=[watch])
    model.fit(blocks.X, blocks.Y)
    assert [len(list(group)) for _, group in itertools.groupby(watch.cycles)] == lengths
    assert next(left, None) is None  # it was looked at twice a cycle
    begins = np.cumsum([0, *lengths[:-1]]) * len(watch.rates) // sum(lengths)
    assert all(watch.rates[begin] < 0.1 * max(watch.rates) for begin in begins)
    assert watch.rates[-1] < 0.05 * max(watch.rates)
    assert len(model.history_) == sum(lengths)


def test_a_checkpoint_knows_its_cycle(blocks, tmp_path, monkeypatch):
    monkeypatch.setattr(type(NetworkClassifier._task.budget), "cycle_epochs", lambda *_: 4)
    monkeypatch.setattr(loop, "STILL_FALLS", -1.0)
    settings = {"hidden": 8, "layers": 1, "random_state": 0, "decision": "threshold"}
    whole = NetworkClassifier("seal-nce", **settings).fit(blocks.X, blocks.Y)
    assert len(whole.history_) == 4 + 8 + 16
    for epoch in (3, 9):
        with pytest.raises(KeyboardInterrupt):
            NetworkClassifier("seal-nce", **settings, callbacks=[Checkpoint(tmp_path / str(epoch)), Interrupt(epoch)]).fit(
                blocks.X, blocks.Y
            )
        again = NetworkClassifier("seal-nce", **settings, callbacks=[Checkpoint(tmp_path / str(epoch), resume=True)]).fit(
            blocks.X, blocks.Y
        )
        assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(again), strict=True))
        assert [record["epoch"] for record in again.history_] == list(range(1, 29))
