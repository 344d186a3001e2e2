"""log P_F(rules) against enumeration of every label set and tag sequence, and what training by it does."""

import itertools

import numpy as np
import pytest
import torch
from tests.configured import configured
from tests.generated import make_sentences
from tests.rules.rule_truth import holds, random_rule

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.encoders.tokens import TokenBatch
from enstruct.errors import ConfigError
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.tag_rules import tag_system
from enstruct.methods import METHODS, PredictorLoss
from enstruct.methods.tags import TAG_METHODS
from enstruct.nn import EnergyLoss
from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Implies, RuleSystem, Soft
from enstruct.rules.tags import AtMostOnce, Gazetteer, NeverFollows
from enstruct.spaces import TagSpace
from enstruct.training.batches import Batch
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.rule_terms import LabelRuleTerm, TagRuleTerm
from enstruct.training.settings import Settings


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
    "rules",
    [
        [AtMost(5, range(14))],
        [AtLeast(6, range(14))],
        [AtLeast(14, range(14))],
        [Exactly(4, range(14)), Soft(AtMost(1, range(14)), 1.3)],
        [AtLeast(2, range(14)), AtMost(9, range(14)), Soft(AtMost(4, range(14)), 0.6)],
    ],
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


@pytest.mark.parametrize("rules", [[], [AtMostOnce("A"), NeverFollows("O", "B-B"), Soft(AtMostOnce("B"), 0.8)]])
def test_tags_against_every_sequence(rules):
    given = [["B-A", "I-A", "O"], ["B-B", "O", "B-B"], ["O", "B-A", "I-A"], ["I-B" if t else "B-B" for t in range(3)]]
    tags = TagFormat.fit(given, "IOB2", None)
    system = tag_system(rules, tags)
    there = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]]).bool()
    z = torch.randn(4, 4, len(tags.tags), generator=torch.Generator().manual_seed(0))
    found = TagRuleTerm(system)(z, TokenBatch(torch.zeros(4, 4, 1), there, torch.zeros(1, 1)))
    log_q = torch.log_softmax(z.double(), -1)
    for b in range(4):
        places = torch.nonzero(there[b]).squeeze(1).tolist()
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
    with pytest.raises(ConfigError, match="rule_weight"):
        PredictorLoss(rule_weight=-0.5)
    for method in ("extra-trees", "dvn"):
        with pytest.raises(ConfigError, match="trains no predictor"):
            METHODS[method].with_(rule_weight=1.0)
    with pytest.raises(ConfigError, match="gazetteers"):
        configured(EnergySequenceTagger, "cross-entropy", rule_weight=1.0, max_epochs=1, rules=Gazetteer("x", ["a"])).fit(
            [["a", "b"]] * 20, [["x", "y"]] * 20
        )


def test_open_tags_leave_the_scheme_as_it_is():
    """Of a sentence of which a token in the middle is not told, the rules ask all tokens: neighbours stay neighbours."""
    term = TagRuleTerm(tag_system([], TagFormat.fit([["B-A", "I-A", "I-A", "O"]], "IOB2", None)))
    method, space = TAG_METHODS["cross-entropy"].with_(rule_weight=2.0), TagSpace(5)
    logits = torch.randn(1, 4, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([1.0, 0.0, 1.0, 1.0]).view(1, 4, 1)
    x = TokenBatch(torch.zeros(1, 4, 1), torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 1))
    y = torch.eye(5)[torch.tensor([[0, 1, 2, 3]])] * mask
    loss = LearnedLoss(method, space, None, 5, Settings(), rules=term).auxiliary_loss(Batch(x, y, mask), logits, 0.0, None)
    torch.testing.assert_close(loss, space.supervised_loss(logits, y, mask) - 2 * term(logits, x))
