"""Chains over a tagger's probabilities against enumeration of every sequence."""

import itertools

import numpy as np
import pytest
import torch

from enstruct.inference.chain import IMPOSSIBLE, energies, log_partition
from enstruct.joint.chain import Block, ChainJoint, Costs, Links, fit_links, linked, padded

K = 3
LENGTHS = [3, 0, 1, 4, 2]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])


def random_links(seed=0, scale=1.0):
    draws = torch.Generator().manual_seed(seed)
    parts = [torch.randn(shape, generator=draws, dtype=torch.float64) * scale for shape in ((K, K), (K,), (K,))]
    return Links(torch.tensor(1.3, dtype=torch.float64), *parts)


FREE = Costs(*(torch.zeros(shape, dtype=torch.float64) for shape in ((K, K), (K,), (K,))))
NO = np.inf
STRICT = Costs(torch.tensor([[0, 0, NO], [0, 0, 0], [NO, 0, 0]]), torch.tensor([0, NO, 0]), torch.tensor([0, 0, NO]))
WEIGHED = Costs(torch.tensor([[0, 2.5, 0], [0, 0, 0], [NO, 0, 0.7]]), torch.tensor([1.5, NO, 0]), torch.tensor([0, 0.4, 0]))


def log_q(seed=1):
    logits = np.random.default_rng(seed).normal(size=(OFFSETS[-1], K)) * 1.5
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def by_place(legal):
    """The links in another form: a table of transitions for each place."""

    def made(values, there, links):
        chain = legal.within(linked(values, there, links))
        time = max(there.shape[1] - 1, 0)
        return chain._replace(transitions=chain.transitions.expand(len(values), time, K, K))

    return made


@pytest.fixture(params=["free", "strict", "weighed", "by place"])
def joint(request):
    legal = {"free": FREE, "weighed": WEIGHED}.get(request.param, STRICT)
    plain = lambda values, there, links: legal.within(linked(values, there, links))  # noqa: E731
    make = by_place(legal) if request.param == "by place" else plain
    blocks = [Block(some, make(values, there, random_links())) for some, values, there in padded(log_q(), OFFSETS)]
    return ChainJoint(blocks, OFFSETS, K), legal


def every(joint, legal, i, allowed=None):
    """(sequences, their -E) of sentence i by the formula."""
    q, links = log_q()[OFFSETS[i] : OFFSETS[i + 1]], random_links()
    W, start, end = (part.numpy() for part in links[1:])
    out, values = [], []
    for y in itertools.product(range(K), repeat=len(q)):
        if not y:
            continue
        cost = float(legal.start[y[0]] + legal.end[y[-1]] + sum(legal.follow[a, b] for a, b in itertools.pairwise(y)))
        if cost == NO or (allowed is not None and not all(allowed[OFFSETS[i] + t, k] for t, k in enumerate(y))):
            continue
        value = 1.3 * sum(q[t, k] for t, k in enumerate(y)) - start[y[0]] - end[y[-1]] - cost
        out.append(y)
        values.append(value - sum(W[a, b] for a, b in itertools.pairwise(y)))
    return np.array(out), np.array(values)


def some_allowed():
    allowed = np.ones((OFFSETS[-1], K), dtype=bool)
    allowed[1] = [False, True, False]
    allowed[3] = [True, True, False]
    allowed[6] = [False, True, True]
    return allowed


@pytest.mark.parametrize("told", [False, True])
def test_every_answer_is_that_of_enumeration(joint, told):
    chain, legal = joint
    allowed = some_allowed() if told else None
    p, best, log_z = chain.marginals(allowed), chain.decoded(allowed)[0], chain.log_partition(allowed)
    drawn = chain.sample(4000, 0, allowed)
    for i, length in enumerate(LENGTHS):
        if not length:
            assert log_z[i] == 0
            continue
        y, value = every(chain, legal, i, allowed)
        weight = np.exp(value - value.max()) / np.exp(value - value.max()).sum()
        here = slice(OFFSETS[i], OFFSETS[i + 1])
        np.testing.assert_allclose(log_z[i], np.log(np.exp(value).sum()), rtol=1e-6)
        np.testing.assert_allclose(p[here], [[weight[y[:, t] == k].sum() for k in range(K)] for t in range(length)], atol=1e-9)
        assert tuple(best[here]) == tuple(y[value.argmax()])
        shares = np.array([(one == drawn[here].T).all(1).mean() for one in y])
        assert (np.abs(shares - weight) < 5 * np.sqrt(weight * (1 - weight) / 4000) + 1e-3).all()
        np.testing.assert_allclose(shares.sum(), 1)


def test_a_sentence_alone_and_variants_of_what_it_may_be(joint):
    chain, _ = joint
    allowed = some_allowed()
    for i, length in enumerate(LENGTHS):
        here = slice(OFFSETS[i], OFFSETS[i + 1])
        one = chain.of_one(i)
        np.testing.assert_allclose(one.log_partition(allowed[here]), chain.log_partition(allowed)[i : i + 1], rtol=1e-9)
        if not length:
            continue
        variants = np.stack([allowed[here], np.ones((length, K), dtype=bool)])
        expected = np.stack([chain.marginals(each)[here] for each in (allowed, None)])
        np.testing.assert_allclose(one.among(variants), expected, atol=1e-9)


def test_samples_of_sentences_are_independent():
    """Of two hundred copies of a sentence, in blocks of their own: as many have both tags as independent ones would."""
    unary, there = torch.zeros(1, 3, K), torch.ones(1, 3, dtype=torch.bool)
    blocks = [Block(np.array([i]), linked(unary, there, Links.none(K))) for i in range(200)]
    drawn = ChainJoint(blocks, np.arange(0, 603, 3), K).sample(1, 0).reshape(200, 3)
    shares = np.stack([(drawn == k).mean(0) for k in range(K)])
    assert (np.abs(shares - 1 / K) < 5 * np.sqrt((1 - 1 / K) / K / 200)).all()
    together = (drawn[1:] == drawn[:-1]).mean()
    assert abs(together - 1 / K) < 5 * np.sqrt((1 - 1 / K) / K / 597)


def test_nothing_possible_is_minus_infinity():
    blocks = [Block(some, STRICT.within(linked(v, there, Links.none(K)))) for some, v, there in padded(log_q(), OFFSETS)]
    allowed = np.ones((OFFSETS[-1], K), dtype=bool)
    allowed[0] = [False, True, False]  # which begins no sentence
    log_z = ChainJoint(blocks, OFFSETS, K).log_partition(allowed)
    assert np.isneginf(log_z[0])
    assert np.isfinite(log_z[1:]).all()


def test_links_are_recovered_from_sequences_of_a_chain():
    """A planted chain: what is learnt has the planted likelihood on new sentences, to the noise of the sample."""
    rng = np.random.default_rng(0)
    planted = random_links(2)._replace(start=torch.zeros(K, dtype=torch.float64), end=torch.zeros(K, dtype=torch.float64))

    n = 400
    logits = rng.normal(size=(8 * n, K))
    q, offsets = logits - np.log(np.exp(logits).sum(1, keepdims=True)), np.arange(0, 8 * n + 1, 8)
    blocks = [Block(some, FREE.within(linked(v, there, planted))) for some, v, there in padded(q, offsets)]
    drawn = ChainJoint(blocks, offsets, K).sample(n, 3)  # all sentences use the same random numbers: each takes its own sample
    tags = np.concatenate([drawn[8 * i : 8 * i + 8, i] for i in range(n)])
    allowed = np.zeros((len(q), K), dtype=bool)
    allowed[np.arange(len(q)), tags] = True
    allowed[rng.random(len(q)) < 0.2] = True  # some tags are open
    links = fit_links(q, allowed, offsets, FREE)
    centred = lambda W: W - W.mean(0) - W.mean(1, keepdim=True) + W.mean()  # noqa: E731
    assert (centred(links.transitions) - centred(planted.transitions)).abs().max() < 0.35
    assert abs(float(links.scale) - 1.3) < 0.15


def test_whole_sentences_are_taught_by_their_energy():
    """The same links, whether a told token is written as one tag or the chain is summed over it."""
    rng = np.random.default_rng(1)
    q = np.log(rng.dirichlet(np.ones(K), size=30))
    offsets, allowed = np.arange(0, 31, 3), np.eye(K, dtype=bool)[rng.integers(K, size=30)]
    opened = np.concatenate([allowed, np.ones((1, K), dtype=bool)])  # one more sentence of one open token, which teaches nothing
    with_open = fit_links(np.concatenate([q, np.log(np.ones((1, K)) / K)]), opened, np.append(offsets, 31), FREE)
    for a, b in zip(fit_links(q, allowed, offsets, FREE), with_open, strict=True):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


def test_impossible_is_far_from_everything():
    chain = STRICT.within(linked(torch.zeros(1, 2, K), torch.ones(1, 2, dtype=torch.bool), Links.none(K)))
    assert float(energies(chain, torch.tensor([[0, 2]]))) >= IMPOSSIBLE
    assert float(log_partition(chain)) == pytest.approx(np.log(3), abs=1e-5)  # 00, 01, 21


def told_sequences(rng, n=40, length=4):
    """(log_q, allowed, offsets) of sentences of known tags that STRICT allows, drawn apart from log_q."""
    every = [y for y in itertools.product(range(K), repeat=length) if possible(y)]
    tags = np.concatenate([every[k] for k in rng.integers(0, len(every), n)])
    logits = rng.normal(size=(len(tags), K))
    return (
        logits - np.log(np.exp(logits).sum(1, keepdims=True)),
        np.arange(K) == tags[:, None],
        np.arange(0, len(tags) + 1, length),
    )


def possible(y):
    ends = STRICT.start[y[0]] + STRICT.end[y[-1]]
    return bool(np.isfinite(float(ends + sum(STRICT.follow[a, b] for a, b in itertools.pairwise(y)))))


def test_links_are_where_the_likelihood_and_their_squares_balance():
    """The slope of -log p of the sentences is that of a square of 1 costing one nat, the other way."""
    q, allowed, offsets = told_sequences(np.random.default_rng(3))
    links = Links(*(part.clone().requires_grad_() for part in fit_links(q, allowed, offsets, STRICT)))
    ((_, values, there),) = padded(q, offsets)
    chain = STRICT.within(linked(values, there, links))
    tags = torch.from_numpy(allowed.argmax(1).reshape(len(offsets) - 1, -1))
    (log_partition(chain) + energies(chain, tags)).sum().backward()
    for part, at in zip(links, Links.none(K), strict=True):
        torch.testing.assert_close(part.grad, -2 * (part.detach() - at), atol=2e-2, rtol=0)
    assert max(float((part.detach() - at).abs().max()) for part, at in zip(links, Links.none(K), strict=True)) > 0.3


def test_sentences_that_break_the_scheme_teach_nothing():
    q, allowed, offsets = told_sequences(np.random.default_rng(4))
    wrong = np.arange(K) == np.array([0, 2, 0, 2])[:, None]  # 2 may not follow 0, and 0 not 2
    more = np.concatenate([q, q[:4]]), np.concatenate([allowed, wrong]), np.append(offsets, offsets[-1] + 4)
    for a, b in zip(fit_links(q, allowed, offsets, STRICT), fit_links(*more, STRICT), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=0)
