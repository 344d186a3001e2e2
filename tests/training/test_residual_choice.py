"""What is chosen of residual energies is near a planted distribution, and is judged by the joint's likelihood."""

import copy
import math

import numpy as np
import pytest
import torch
from tests.joint.problems import all_sets, random_logits
from tests.training.planted import divergence, draw, log_probabilities, noise_of
from tests.training.planted_sets import PLANTED, L, N, blocks, pairwise, sample

from enstruct.energies.residual import ResidualEnergy
from enstruct.rules import Implies, RuleSystem
from enstruct.training import residual, residual_choice
from enstruct.training.joint_likelihood import likelihoods
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import CANDIDATES, INDEPENDENT, Candidate, Examples
from enstruct.training.residual_choice import fit_residual

PAIRS = Candidate("pairs", pairs=True, rate=1e-2)
BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}
LOOSE = BY_NAME["pairs, loose"]


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_fitted_and_chosen_is_near_it(name):
    """Stopped early and held down it is not at the minimum: three times the mean noise of as many rows."""
    truth, examples = sample(PLANTED[name]())
    held = np.arange(0, N, 5)
    logits, y = examples.logits.numpy(), examples.y.numpy()
    fitted = fit_residual(logits, y, None, held, 0, (INDEPENDENT, LOOSE))
    assert fitted.chosen in (LOOSE, LOOSE.continued())
    assert divergence(truth, fitted.energy, examples.logits) < 3 * noise_of(truth, examples.logits).mean
    assert fitted.likelihoods["pairs, loose"] < fitted.likelihoods["independent"] - 0.1
    entropy = -(log_probabilities(truth, examples.logits).exp() * log_probabilities(truth, examples.logits)).sum(1).mean()
    assert fitted.likelihoods["pairs, loose"] == pytest.approx(float(entropy), abs=0.4)


def test_two_labels_of_a_strictly_exclusive_block_are_hardly_ever_on_together():
    """Exactly one of three, the same for all x: outside of the family, at the limit of infinite couplings."""
    share = np.array([0.5, 0.3, 0.2])
    chosen = np.random.default_rng(0).choice(3, N, p=share)
    y, logits = np.eye(3, dtype=np.float32)[chosen], np.tile(np.log(share / (1 - share)).astype(np.float32), (N, 1))
    energy = fit_residual(logits, y, None, np.arange(0, N, 5), 0, (INDEPENDENT, LOOSE)).energy
    p = log_probabilities(energy, torch.from_numpy(logits[:1])).exp()[0]
    ones = all_sets(3).sum(1) == 1
    assert float(p[ones].sum()) > 0.9  # 0.47 without couplings
    np.testing.assert_allclose((p[ones] / p[ones].sum()).flip(0).numpy(), share, atol=4 * math.sqrt(0.25 / N))


@pytest.mark.parametrize("seed", range(4))
def test_no_couplings_where_labels_are_independent_given_the_base(seed):
    truth, examples = sample(torch.zeros(L, L), seed, 500)
    fitted = fit_residual(examples.logits.numpy(), examples.y.numpy(), None, np.arange(0, 500, 5), seed, (INDEPENDENT, LOOSE))
    assert fitted.chosen == INDEPENDENT
    assert fitted.energy.couplings() is None
    # 2 L numbers by maximum likelihood: mean L / n, standard deviation sqrt(L) / n
    assert divergence(truth, fitted.energy, examples.logits) < (L + 4 * math.sqrt(L)) / 500


def test_couplings_are_kept_for_more_than_noise_alone():
    better, same = torch.tensor([1.0, 2.0, 1.0, 2.0]), torch.tensor([1.5, 2.5, 1.4, 2.6])
    nats = {"independent": same, "pairs": better}
    assert residual_choice._best(nats) == "pairs"
    noisy = torch.tensor([9.0, -6.0, 2.0, 2.0])  # fewer in the mean, by a quarter of the gain's standard error
    assert residual_choice._best({"independent": same, "pairs": noisy}) == "independent"
    assert residual_choice._best({"pairs": noisy, "units": better}) == "units"
    likelier = torch.tensor([5.0, -4.0, 1.0, 1.0])  # in the mean, but by no more than noise, so that it does not stand in its way
    assert residual_choice._best({"independent": same, "pairs": better, "pairs, stacked": likelier}) == "pairs"


def tried(name, nats, epochs=1, n_labels=2):
    nats = torch.tensor(nats)
    return residual_choice.Tried(BY_NAME[name], ResidualEnergy(n_labels, pairs=True), epochs, nats, nats)


def taken(n_labels, **nats):
    several = [tried(name.replace("_", ", "), some, n_labels=n_labels) for name, some in nats.items()]
    return residual_choice._taken(several).candidate.name


# behind the best by .125 with an error of .065, and by .25 with one of .025
BEST, LEVEL, BEHIND = [1.0, 2.0, 1.0, 2.0], [1.3, 2.0, 1.0, 2.2], [1.3, 2.2, 1.3, 2.2]


def test_of_those_level_with_the_best_the_quickest_is_taken():
    costs = {"independent": 0, "pairs": 400, "pairs, loose": 400, "units": 640, "pairs, units": 720}
    assert {name: BY_NAME[name].cost(200) for name in costs} == costs
    assert taken(200, independent=[0.0] * 4, pairs=LEVEL, units=BEST) == "pairs"
    assert taken(200, pairs=BEHIND, units=BEST) == "units"
    assert taken(200, pairs=LEVEL, pairs_loose=BEST, units=BEST) == "pairs, loose"  # at the same cost that of the fewest nats
    assert taken(200, units=LEVEL, pairs_units=BEST, pairs=BEHIND) == "units"
    assert taken(200, independent=BEHIND) == "independent"
    assert taken(200, pairs=[float("nan")] * 4, units=BEST) == "units"


def test_where_all_answer_in_no_time_the_likeliest_is_taken():
    assert taken(14, pairs=LEVEL, units=BEST) == "units"
    assert taken(46, pairs=LEVEL, units=BEST) == "units"  # 29,440 operations a sweep
    assert taken(47, pairs=LEVEL, units=BEST) == "pairs"


def test_what_is_level_but_not_worth_its_couplings_is_not_taken():
    plain, dear, cheap = [2.0, 2.1, 2.0, 2.1], [1.7, 1.7, 1.7, 1.9], [1.3, 2.2, 1.7, 2.0]
    assert taken(200, pairs=cheap, units=dear) == "pairs"
    assert taken(200, independent=plain, pairs=cheap, units=dear) == "units"


def test_what_is_fitted_tells_of_all_tried_and_ends_with_the_time():
    _, examples = sample(pairwise(), rows=200)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    fitted = fit_residual(logits, y, None, held, 0, CANDIDATES, should_stop=lambda: True)
    assert list(fitted.likelihoods) == ["independent"]
    weighted = fit_residual(logits, y, np.full(200, 3.0), held, 0, (INDEPENDENT,))
    assert weighted.likelihoods == pytest.approx(fitted.likelihoods)
    assert not any(module.training for module in (fitted.energy, fitted.judge))
    judged = Examples(examples.logits, examples.y, examples.weight).take(held)
    nats = likelihoods(fitted.judge, judged, 0, residual_choice.FINE)
    assert float(nats.mean()) == pytest.approx(fitted.likelihoods["independent"])
    expected = refit(INDEPENDENT, examples, fitted.epochs, 0)
    assert torch.equal(expected.slope, fitted.energy.slope)


@pytest.mark.parametrize(
    ("rough", "expected"),
    [
        ({60: 5.0, 32: 4.0, 16: 3.0, 8: 2.0, 4: 2.5, 2: 1.0}, 8),
        ({60: 5.0, 32: 5.0, 16: 3.0}, 60),
        ({40: 5.0, 32: 4.0, 16: 3.0, 8: 3.5}, 16),  # 32 are too near to 40 to be tried
        ({2: 5.0, 1: 4.0}, 1),
        ({1: 5.0}, 1),
    ],
)
def test_epochs_are_given_back_as_long_as_the_joint_is_likelier(rough, expected):
    asked = []

    class Judges:
        def roughly(self, candidate, judge, epochs):
            assert judge.slope[0] == epochs  # the weights of then
            asked.append(epochs)
            return tried(candidate.name, [rough[epochs]], epochs)

    weights = ResidualEnergy(2, pairs=True).state_dict()
    last, *before = rough
    earlier = {epochs: weights | {"slope": torch.full((2,), float(epochs))} for epochs in before}
    kept = residual_choice._shortened(tried("pairs", [rough[last]], last), earlier, Judges(), lambda: False)
    assert kept.epochs == expected
    assert 32 not in asked or last == 60
    asked.clear()
    assert residual_choice._shortened(tried("pairs", [rough[last]], last), earlier, Judges(), lambda: True).epochs == last
    assert not asked


@pytest.mark.usefixtures("stacked_terms")
def test_what_is_clearly_behind_is_judged_roughly_alone(monkeypatch):
    _, examples = sample(pairwise(), rows=200)
    tolerances, own = [], residual_choice.likelihoods

    def judged(energy, rows, seed, tolerance):
        tolerances.append(tolerance)
        behind = 9.0 if energy.matrix is not None else 0.0
        return own(energy, rows, seed, tolerance) + behind

    monkeypatch.setattr(residual_choice, "likelihoods", judged)
    monkeypatch.setattr(residual_choice, "_shortened", lambda one, *_: one)
    units = Candidate("units", units=4, rate=1e-2)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    fitted = fit_residual(logits, y, None, held, 0, (INDEPENDENT, PAIRS, units))
    rough, fine = residual_choice.ROUGH, residual_choice.FINE
    of_each, stacked, continued = [rough, fine, rough, fine, rough], [rough, fine], [fine]
    assert tolerances == [*of_each, *stacked, *continued]
    assert fitted.likelihoods["units"] > fitted.likelihoods["independent"] + 5
    assert not fitted.chosen.units


@pytest.mark.parametrize(("no_time", "judged_finely"), [(0, False), (30_000, True)])
def test_what_answers_more_slowly_is_judged_finely_only_if_it_is_ahead(monkeypatch, no_time, judged_finely):
    _, examples = sample(pairwise(), rows=200)
    fine = []

    def judged(energy, rows, seed, tolerance):
        kind = "units" if energy.matrix is not None else "pairs" if energy.couplings() is not None else "independent"
        if tolerance == residual_choice.FINE:
            fine.append(kind)
        noise = torch.where(
            torch.arange(len(rows.y)) % 2 == 0, 1.0, -1.0
        )  # units: a hundredth behind, with an error of a seventh
        return {"independent": 9 + 0 * noise, "pairs": 5 + 0 * noise, "units": 5.01 + noise}[kind]

    monkeypatch.setattr(residual_choice, "likelihoods", judged)
    monkeypatch.setattr(residual_choice, "_shortened", lambda one, *_: one)
    monkeypatch.setattr(residual_choice, "NO_TIME", no_time)
    units = Candidate("units", units=4, rate=1e-2)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    fit_residual(logits, y, None, held, 0, (INDEPENDENT, PAIRS, units))
    assert ("units" in fine) == judged_finely


def test_what_answers_more_slowly_has_to_be_ahead_roughly_too():
    def is_out(name, n_labels, best):
        return residual_choice._is_out(tried(name, LEVEL, n_labels=n_labels), tried(best, BEST, n_labels=n_labels))

    assert is_out("units", 200, "pairs")
    assert not is_out("pairs", 200, "units")
    assert not is_out("units", 14, "pairs")
    assert not is_out("units", 200, "independent")
    ahead, best = tried("units", BEST, n_labels=200), tried("pairs", LEVEL, n_labels=200)
    assert not residual_choice._is_out(ahead, best)


def test_what_was_shortened_in_vain_is_given_its_epochs_back(monkeypatch):
    """The rough likelihood is biased: the fine one has the last word."""
    _, examples = sample(pairwise())
    held, after_one = np.arange(0, N, 5), []

    def too_short(one, earlier, judges, *_):
        judge = copy.deepcopy(one.judge)
        judge.load_state_dict(earlier[1])
        after_one.append(one.epochs)
        return residual_choice.Tried(one.candidate, judge, 1, one.rough, one.nats)

    monkeypatch.setattr(residual_choice, "_shortened", too_short)
    fitted = fit_residual(examples.logits.numpy(), examples.y.numpy(), None, held, 0, (INDEPENDENT, LOOSE))
    assert after_one[0] > 8
    assert fitted.epochs == after_one[0]


def test_candidates_are_judged_on_rows_that_they_have_not_seen(monkeypatch):
    seen = []

    def trained(energy, train, validation, *rest, patience=None):
        seen.append((train, validation))
        return residual.Epochs(1, {})

    monkeypatch.setattr(residual_choice, "train_residual", trained)
    monkeypatch.setattr(residual, "train_residual", trained)
    _, examples = sample(blocks(), rows=50)
    left_out = np.arange(0, 50, 5)
    fit_residual(examples.logits.numpy(), examples.y.numpy(), None, left_out, 0, (INDEPENDENT, LOOSE))
    (train, validation), *_, (last, none) = seen
    assert torch.equal(validation.y, examples.y[left_out])
    assert torch.equal(train.y, examples.y[np.setdiff1d(np.arange(50), left_out)])
    assert none is None  # the chosen one is trained on all
    assert torch.equal(last.y, examples.y)


@pytest.mark.usefixtures("stacked_terms")
def test_the_one_taken_is_continued_and_kept_where_it_is_better(monkeypatch):
    _, examples = sample(pairwise(), rows=200)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    continued, trained = [], residual.train_by_chains

    def by_chains(energy, train, candidate, seed, *should_stop):
        continued.append((candidate.name, len(train.y)))
        return trained(energy, train, candidate, seed, *should_stop)

    for module in (residual, residual_choice):
        monkeypatch.setattr(module, "train_by_chains", by_chains)
    fitted = fit_residual(logits, y, None, held, 0, (INDEPENDENT, PAIRS, LOOSE))
    best = min(("pairs", "pairs, loose"), key=lambda name: fitted.likelihoods[name])
    assert list(fitted.likelihoods) == ["independent", "pairs", "pairs, loose", f"{best}, stacked", f"{best}, persistent"]
    assert continued[0] == (f"{best}, persistent", 150)
    assert fitted.chosen.persistent == (min(fitted.likelihoods, key=fitted.likelihoods.get) == f"{best}, persistent")
    assert continued[1:] == [(fitted.chosen.name, 200)] * fitted.chosen.persistent
    monkeypatch.setattr(residual_choice, "_shortened", lambda one, *_: one)
    calls = iter([False] * 6)  # before two candidates, before the stacked one and the chains, and of these' first two updates
    late = fit_residual(logits, y, None, held, 0, (INDEPENDENT, PAIRS, LOOSE), should_stop=lambda: next(calls, True))
    assert list(late.likelihoods) == ["independent", "pairs", "pairs, loose", f"{best}, stacked"]
    continued.clear()
    alone = fit_residual(logits, y, None, held, 0, (LOOSE,))
    assert list(alone.likelihoods) == ["pairs, loose"]
    again = fit_residual(logits, y, None, held, 0, (LOOSE.continued(),))
    assert continued[-2:] == [("pairs, loose, persistent", 150), ("pairs, loose, persistent", 200)]
    assert again.chosen.persistent
    assert not again.energy.training
    assert not torch.equal(again.energy.table, alone.energy.table)


@pytest.mark.usefixtures("stacked_terms")
def test_other_labels_logits_count_where_they_say_more():
    """Labels that follow another's logit: what is fitted without them lacks what they say."""
    truth, logits = ResidualEnergy(L, stacked=True).requires_grad_(False), random_logits(2 * N, L) * 0.8
    truth.table.copy_(torch.randn(L, L, generator=torch.Generator().manual_seed(0)).triu(1))
    truth.standardise_by(logits)
    truth.stack.copy_(1.5 * torch.roll(torch.eye(L), 1, 1))
    y = draw(truth, logits, 0)
    fitted = fit_residual(logits.numpy(), y.numpy(), None, np.arange(0, 2 * N, 5), 0, (INDEPENDENT, LOOSE))
    assert fitted.chosen.stacked
    assert fitted.energy.stack is not None
    assert divergence(truth, fitted.energy, logits) < 0.25  # 0.83 without them
    assert fitted.likelihoods["pairs, loose, stacked"] < fitted.likelihoods["pairs, loose"] - 0.3


def test_rules_that_leave_no_time_leave_labels_to_themselves(monkeypatch):
    """What is not compared is not chosen: logits alone, under the rules, trained on all rows that keep them."""
    _, examples = sample(pairwise(), rows=200)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    rules = RuleSystem.of(Implies(0, 1), range(L))
    kept = y[:, 0] <= y[:, 1]
    judged = []

    def likely(energy, rows, seed, tolerance):
        judged.append((len(rows.y), tolerance, energy.coupled))
        return likelihoods(energy, rows, seed, tolerance)

    monkeypatch.setattr(residual_choice, "likelihoods", likely)
    given = logits, y, None, held, 0, (INDEPENDENT, LOOSE)
    short = fit_residual(*given, rules=rules, seconds=1e-6)
    assert judged == [(residual_choice.FEW, residual_choice.ROUGH, True)]
    assert (short.chosen, short.likelihoods) == (INDEPENDENT, {})
    assert short.energy.couplings() is None
    parts = (torch.as_tensor(part[kept]) for part in (logits, y, np.ones(200, dtype=np.float32)))
    again = refit(INDEPENDENT, Examples(*parts, rules), short.epochs, 0)
    for name, tensor in again.state_dict().items():
        torch.testing.assert_close(short.energy.state_dict()[name], tensor)
    assert set(fit_residual(*given, rules=rules, seconds=3600).likelihoods) >= {"independent", "pairs, loose"}
    assert set(fit_residual(*given, seconds=1e-6).likelihoods) >= {"independent", "pairs, loose"}  # without rules it is quick
