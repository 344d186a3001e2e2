"""log P_F(rules) against enumeration of every label set and tag sequence, and what training by it does."""

import itertools

import numpy as np
import pytest
import torch
from tests.configured import configured
from tests.generated import make_sentences
from tests.rules.rule_truth import holds, random_rule

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.errors import ConfigError
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.tag_rules import tag_system
from enstruct.methods import METHODS, PredictorLoss
from enstruct.nn import EnergyLoss
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Implies, RuleSystem, Soft
from enstruct.rules.tags import AtMostOnce, NeverFollows
from enstruct.training.rule_terms import LabelRuleTerm, TagRuleTerm


def enumerated(logits, rules):
    """(rows,) by the rules as they read."""
    every = list(itertools.product((0, 1), repeat=logits.shape[1]))
    y = torch.tensor(every, dtype=torch.float64)
    weight = torch.zeros(len(y), dtype=torch.float64)
    for rule in rules:
        nats = rule.weight if isinstance(rule, Soft) else torch.inf
        broken = torch.tensor([not holds(rule.rule if isinstance(rule, Soft) else rule, one) for one in every])
        weight = torch.where(broken, weight - nats, weight)
    z = logits.double()
    log_q = z @ y.T - torch.nn.functional.softplus(z).sum(1, keepdim=True)
    return torch.logsumexp(log_q + weight, 1)


def some_logits(n, seed=0, rows=4):
    return 2 * torch.randn(rows, n, generator=torch.Generator().manual_seed(seed))


def test_random_rules_against_every_label_set():
    rng, judged = np.random.default_rng(0), 0
    for seed in range(150):
        rules = [random_rule(rng, 6) for _ in range(rng.integers(1, 4))]
        rules = [Soft(rule, float(rng.uniform(0.2, 3))) if rng.random() < 0.3 else rule for rule in rules]
        try:
            system = RuleSystem.of(rules, list(range(6)))
        except ConfigError:
            continue
        expected, z = enumerated(some_logits(6, seed), rules), some_logits(6, seed)
        if torch.isinf(expected).any() or _has_split(rules):
            continue
        torch.testing.assert_close(LabelRuleTerm(system)(z, None).double(), expected, atol=2e-5, rtol=1e-4)
        judged += 1
    assert judged > 80


def _has_split(rules):
    """Whether a preference is more than one inequality, each of which costs its weight."""
    return any(isinstance(rule, Soft) and len(RuleSystem.of(rule, list(range(6))).inequalities) > 1 for rule in rules)


@pytest.mark.parametrize(
    "rules", [[AtMost(5, range(14))], [AtLeast(6, range(14))], [Exactly(4, range(14)), Soft(AtMost(1, range(14)), 1.3)]]
)
def test_rules_that_count_many_labels(rules, monkeypatch):
    monkeypatch.setattr("enstruct.rules.system.legal_states", lambda *_: None)
    z = some_logits(14)
    found = LabelRuleTerm(RuleSystem.of(rules, list(range(14))))(z, None).double()
    torch.testing.assert_close(found, enumerated(z, rules), atol=1e-5, rtol=1e-5)


def test_large_groups_take_each_inequality_by_itself(monkeypatch):
    monkeypatch.setattr("enstruct.rules.system.legal_states", lambda *_: None)
    rules = [Implies(0, 1), Excludes(1, 2, 3), AtLeast(2, [2, 3, 4, 5]), Soft(Implies(5, 0), 0.7)]
    z = some_logits(6)
    expected = sum(enumerated(z, [rule]) for rule in rules)
    term = LabelRuleTerm(RuleSystem.of(rules, list(range(6))))
    torch.testing.assert_close(term(z, None).double(), expected, atol=1e-5, rtol=1e-5)
    assert not term.exact
    X, Y = rows(100)
    some = [Excludes(0, 1), Soft(Implies(0, 2), 0.1)]
    with pytest.raises(ConfigError, match="rule_weight"):
        configured(EnergyMultiLabelClassifier, "cross-entropy", rule_weight=-1.0, rules=some, max_epochs=1).fit(X, Y)


@pytest.mark.parametrize("rules", [[], [AtMostOnce("A"), NeverFollows("O", "B-B"), Soft(AtMostOnce("B"), 0.8)]])
def test_tags_against_every_sequence(rules):
    given = [["B-A", "I-A", "O"], ["B-B", "O", "B-B"], ["O", "B-A", "I-A"], ["I-B" if t else "B-B" for t in range(3)]]
    tags = TagFormat.fit(given, "IOB2", None)
    system = tag_system(rules, tags)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]]).float().unsqueeze(2)
    z = torch.randn(4, 4, len(tags.tags), generator=torch.Generator().manual_seed(0))
    found = TagRuleTerm(system)(z, mask)
    log_q = torch.log_softmax(z.double(), -1)
    for b in range(4):
        places = torch.nonzero(mask[b, :, 0]).squeeze(1).tolist()
        total = []
        for y in itertools.product(range(len(tags.tags)), repeat=len(places)):
            cost = sum(system.follow[a, c] for a, c in itertools.pairwise(y))
            if y:
                cost += system.start[y[0]] + system.end[y[-1]]
            for begins, nats in system.once:
                again = max(sum(begins[k] for k in y) - 1, 0)
                cost += again * nats if again else 0.0
            total.append(sum(log_q[b, t, k] for t, k in zip(places, y, strict=True)) - cost)
        expected = torch.logsumexp(torch.stack([torch.as_tensor(one, dtype=torch.float64) for one in total]), 0)
        assert float(found[b]) == pytest.approx(float(expected), abs=1e-4)


def rows(n=300):
    """Labels of which one excludes the other, hard to tell from x."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    which = rng.integers(0, 3, n)
    Y = np.stack([which == 0, which == 1, X[:, 0] > 0], 1).astype(int)
    return X, Y


def test_a_positive_weight_teaches_to_keep_rules():
    X, Y = rows()
    rules, broken = [Excludes(0, 1)], {}
    for weight in (0.0, 3.0):
        model = configured(
            EnergyMultiLabelClassifier, "cross-entropy", rule_weight=weight, rules=rules, hidden=16, max_epochs=15, random_state=0
        ).fit(X, Y)
        logits = torch.from_numpy(model._answers().networks.answer(model._inputs(X), relaxed=False))
        broken[weight] = float(1 - LabelRuleTerm(model.legality_.varying)(logits, None).exp().mean())
    assert broken[3.0] < 0.6 * broken[0.0]


def test_minus_one_learns_the_likelihood_under_the_rules():
    """Of one label in three that nothing tells apart: by itself each has its share p, and odds p / (1 - p) under the rule, which
    are not what is true; learning what is answered under the rule gains the difference of a few hundredths of a nat."""
    rng = np.random.default_rng(0)
    X, share = rng.normal(size=(900, 4)).astype(np.float32), np.array([0.6, 0.3, 0.1])
    Y = np.eye(3, dtype=int)[rng.choice(3, 900, p=share)]
    nats = {}
    for weight in (0.0, -1.0):
        settings = {"hidden": 8, "max_epochs": 25, "random_state": 0, "weight_decay": 0.1, "rules": Exactly(1, [0, 1, 2])}
        model = configured(EnergyMultiLabelClassifier, "cross-entropy", rule_weight=weight, **settings).fit(X[:600], Y[:600])
        z = torch.from_numpy(model._answers().networks.answer(model._inputs(X[600:]), relaxed=False))
        log_q = (z * torch.from_numpy(Y[600:]) - torch.nn.functional.softplus(z)).sum(1)
        nats[weight] = float((LabelRuleTerm(model.legality_.varying)(z, None) - log_q).mean())
    assert nats[-1.0] < nats[0.0] - 0.015, nats


def test_a_tagger_that_learns_its_scheme_answers_by_it():
    words, tags = make_sentences(100)
    new = make_sentences(60, seed=3)[0]
    illegal = {}
    for weight in (0.0, 2.0):
        settings = {"hidden": 6, "embedding_dim": 6, "max_epochs": 4, "learning_rate": 0.02, "random_state": 0}
        model = configured(EnergySequenceTagger, "cross-entropy", rule_weight=weight, **settings).fit(words, tags)
        raw = [p.argmax(1) for p in model.predict_proba(new)]
        illegal[weight] = sum(model.system_.breaks(sentence, tags) for sentence, tags in zip(new, raw, strict=True))
    assert illegal[2.0] < 0.8 * illegal[0.0], illegal


def test_where_there_are_no_rules():
    X, Y = rows(60)
    with pytest.raises(ConfigError, match="rules="):
        configured(EnergyMultiLabelClassifier, "cross-entropy", rule_weight=1.0, max_epochs=1).fit(X, Y)
    with pytest.raises(ConfigError, match="rules="):
        configured(EnergySequenceTagger, "cross-entropy", rule_weight=1.0, max_epochs=1).fit([["a", "b"]] * 20, [["x", "y"]] * 20)
    masks = np.zeros((8, 8, 8), dtype=int)
    masks[:, 2:5] = 1
    with pytest.raises(ConfigError, match="Masks"):
        configured(EnergySegmenter, "cross-entropy", rule_weight=1.0, max_epochs=1).fit(np.zeros((8, 8, 8, 1)), masks)
    with pytest.raises(ConfigError, match="rules="):
        EnergyLoss(3, 2, METHODS["seal-nce"].with_(rule_weight=1.0))
    with pytest.raises(ConfigError, match="supervised_weight"):
        PredictorLoss(rule_weight=-1.5)
