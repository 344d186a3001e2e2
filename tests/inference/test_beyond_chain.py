"""Energies of tags that are more than a chain: answers by sampling against enumeration of every sequence."""

import itertools

import numpy as np
import pytest
import torch

from enstruct.energies import ChainEnergy, ConvEnergy, LocalEnergy, SumEnergy
from enstruct.energies.tag_lm import TagLanguageEnergy, TagLanguageModel
from enstruct.errors import ConfigError
from enstruct.inference import Chain, beyond_chain
from enstruct.inference.beyond_chain import Numbers, annealed, draw, log_partition, lowest, marginals, parted
from enstruct.inference.chain import IMPOSSIBLE, clamped, energies
from enstruct.spaces import TagSpace

K, T = 3, 5
MASKS = [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [1, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
EXTRA = {
    "skip-2": lambda: [ChainEnergy(K, 2)],
    "skips": lambda: [ChainEnergy(K, 2), ChainEnergy(K, 3)],
    "conv": lambda: [ConvEnergy(K, 6)],
    "tag-lm": lambda: [TagLanguageEnergy(TagLanguageModel(K, 4), 2.0), ChainEnergy(K, 2)],
}


def made(extra, seed=3):
    torch.manual_seed(seed)
    energy = SumEnergy(None, [LocalEnergy(2, K), ChainEnergy(K), *EXTRA[extra]()]).double()
    for p in energy.parameters():
        torch.nn.init.normal_(p)
    for p in energy.terms[2:].parameters():
        p.data *= 0.7
    mask = torch.tensor(MASKS, dtype=torch.float64).unsqueeze(-1)
    return energy, energy.prepare(torch.randn(len(MASKS), T, 2, dtype=torch.float64), mask), mask


@pytest.fixture(params=EXTRA)
def problem(request):
    return made(request.param)


def every_sequence(mask):
    """(sequences, time, tags) one-hot, zero in holes."""
    places = [t for t in range(T) if mask[t]]
    out = torch.zeros(K ** len(places), T, K, dtype=torch.float64)
    for i, tags in enumerate(itertools.product(range(K), repeat=len(places))):
        out[i, places, list(tags)] = 1
    return out


def enumerated(energy, state, b, graph=False):
    """(every sequence of a sentence, its energy)."""
    y = every_sequence(MASKS[b]).unsqueeze(0)
    values = energy(state.rows(torch.tensor([b])), y)[0]
    return y[0], values if graph else values.detach()


def of_rows(parts, b):
    chain = parts.chain._replace(unary=parts.chain.unary[b : b + 1], there=parts.chain.there[b : b + 1])
    return parts._replace(chain=chain, rest=parts.rest.rows(torch.tensor([b])))


def test_the_parts_sum_to_the_energy(problem):
    energy, state, _ = problem
    parts = parted(energy, state)
    for b in range(len(MASKS)):
        y, values = enumerated(energy, state, b)
        some = of_rows(parts, b)
        length = int(sum(MASKS[b]))
        tags = torch.zeros(len(y), T, dtype=torch.long)
        tags[:, :length] = y.argmax(2)[:, torch.tensor(MASKS[b]) > 0]
        chain = some.chain._replace(unary=some.chain.unary.expand(len(y), -1, -1), there=some.chain.there.expand(len(y), -1))
        torch.testing.assert_close(energies(chain, tags) + some.rest(tags.unsqueeze(0))[0], values)


def test_marginals(problem):
    energy, state, mask = problem
    p, near = Chain("marginals").solve(energy, state, TagSpace(K)).y, 0.07 if parted(energy, state).rest.linear else 0.1
    for b in range(len(MASKS)):
        y, values = enumerated(energy, state, b)
        truth = torch.einsum("s,stk->tk", torch.softmax(-values, 0), y)
        assert float((p[b] - truth).abs().max()) < near
    torch.testing.assert_close(p.sum(-1, keepdim=True), mask)


def test_many_sweeps_have_no_bias(problem, monkeypatch):
    """Of all answers: the error falls to that of so many independent draws."""
    monkeypatch.setattr(beyond_chain, "CHAINS", 800)
    monkeypatch.setattr(beyond_chain, "MORE_CHAINS", 800)
    monkeypatch.setattr(beyond_chain, "SWEEPS", 30)
    energy, state, _ = problem
    parts = parted(energy, state)
    p = marginals(parts, parts.rest)
    drawn = draw(parts, parts.rest, 3000, 1)
    for b in range(len(MASKS)):
        y, values = enumerated(energy, state, b)
        there = torch.tensor(MASKS[b]) > 0
        truth = torch.einsum("s,stk->tk", torch.softmax(-values, 0), y)[there]
        length = len(truth)
        if length:
            assert float((p[b, :length] - truth).abs().max()) < 0.012
            shares = torch.nn.functional.one_hot(drawn[b, :, :length], K).double().mean(0)
            assert float((shares - truth).abs().max()) < 0.03
            code = (drawn[b, :, :length] * K ** torch.arange(length)).sum(1)
            whole = (y.argmax(2)[:, there] * K ** torch.arange(length)).sum(1)
            found = torch.bincount(code, minlength=K**length).double()[whole] / len(code)
            assert float((found - torch.softmax(-values, 0)).abs().max()) < 0.03


def test_the_partition_function(problem):
    energy, state, _ = problem
    parts = parted(energy, state)
    log_z = log_partition(parts, parts.rest)
    for b in range(len(MASKS)):
        assert float(log_z[b]) == pytest.approx(float(torch.logsumexp(-enumerated(energy, state, b)[1], 0)), abs=0.25)


def test_weights_are_right_in_expectation(problem):
    """E[w] = Z / Z_chain for any number of steps."""
    energy, state, _ = problem
    parts = parted(energy, state)
    for steps in (1, 3):
        log_weight = annealed(parts, parts.rest, Numbers(0, 20_000), steps).log_weight
        found = torch.logsumexp(log_weight, 1) - np.log(20_000)
        for b in range(3):
            y, values = enumerated(energy, state, b)
            bare = SumEnergy(None, list(energy.terms)[:2])
            of_chain = bare(state._replace(terms=state.terms[:2]).rows(torch.tensor([b])), y.unsqueeze(0))[0].detach()
            expected = torch.logsumexp(-values, 0) - torch.logsumexp(-of_chain, 0)
            assert float(found[b]) == pytest.approx(float(expected), abs=0.12)


def test_the_least_energy_is_found(problem):
    energy, state, _ = problem
    solution = Chain("viterbi").solve(energy, state, TagSpace(K))
    for b in range(len(MASKS)):
        y, values = enumerated(energy, state, b)
        assert torch.equal(solution.y[b], y[values.argmin()])
        assert solution.energy[b].item() == pytest.approx(float(values.min()))


def test_a_sentence_does_not_depend_on_its_company(problem):
    energy, state, mask = problem
    parts = parted(energy, state)
    for answer in (marginals, log_partition, lowest):
        together = answer(parts, parts.rest)
        for b in range(len(MASKS)):
            length = max(1, int(sum(MASKS[b])))
            alone = of_rows(parts, b)
            chain = alone.chain._replace(unary=alone.chain.unary[:, :length], there=alone.chain.there[:, :length])
            kept = alone.rest.state
            short = alone._replace(
                chain=chain, rest=beyond_chain.Rest(alone.rest.terms, _cut(kept, mask[b], length), chain.there, K)
            )
            found = answer(short, short.rest)[0]
            torch.testing.assert_close(found, together[b][:length] if together[b].dim() else together[b])


def _cut(state, mask, length):
    """The state of a sentence whose tags stand together at its front."""
    there = torch.arange(length) < mask.sum()
    places = torch.where(there, torch.arange(length), -1).unsqueeze(0)
    return state._replace(terms=tuple(places for _ in state.terms), mask=there.double().view(1, -1, 1), parts=(length,))


def test_what_is_impossible_is_never_drawn():
    energy, state, _ = made("skip-2")
    parts = parted(energy, state)
    allowed = torch.rand(len(MASKS), T, K, generator=torch.Generator().manual_seed(0)) < 0.6
    allowed[..., 0] |= ~allowed.any(2)
    links = parts.chain.transitions.detach().clone()
    links[1, 2] = IMPOSSIBLE
    told = parts._replace(chain=clamped(parts.chain._replace(transitions=links), allowed))
    states = draw(told, told.rest, 300, 0)
    p, best = marginals(told, told.rest), lowest(told, told.rest)
    for b in range(len(MASKS)):
        length = int(sum(MASKS[b]))
        every = torch.stack([*states[b], best[b]])[:, :length]
        assert allowed[b, torch.arange(length), every].all()
        assert not ((every[:, :-1] == 1) & (every[:, 1:] == 2)).any()
        assert (p[b, :length][~allowed[b, :length]] < 1e-12).all()
        y, values = enumerated(energy, state, b)
        tags = y.argmax(2)[:, torch.tensor(MASKS[b]) > 0]
        legal = allowed[b, torch.arange(length), tags].all(1) & ~((tags[:, :-1] == 1) & (tags[:, 1:] == 2)).any(1)
        truth = torch.einsum("s,stk->tk", torch.softmax(-values[legal], 0), y[legal])[torch.tensor(MASKS[b]) > 0]
        if length:
            assert float((p[b, :length] - truth).abs().max()) < 0.07
            assert torch.equal(best[b, :length], tags[legal][values[legal].argmin()])


def test_links_that_differ_from_place_to_place(monkeypatch):
    """And states of which several stand for one tag, as rules with a memory have them: against every sequence of states."""
    monkeypatch.setattr(beyond_chain, "CHAINS", 400)
    energy, state, _ = made("skip-2")
    parts, draws = parted(energy, state), torch.Generator().manual_seed(5)
    links = torch.randn(len(MASKS), T - 1, 2 * K, 2 * K, dtype=torch.float64, generator=draws)
    links[torch.rand(links.shape, generator=draws) < 0.3] = IMPOSSIBLE
    chain = parts.chain._replace(
        unary=parts.chain.unary.detach().repeat(1, 1, 2),
        transitions=links,
        start=torch.tensor([0.0] * K + [IMPOSSIBLE] * K, dtype=torch.float64),
        end=torch.randn(2 * K, dtype=torch.float64, generator=draws),
    )
    wide = parts._replace(chain=chain)
    p, log_z, best = (answer(wide, wide.rest) for answer in (marginals, log_partition, lowest))
    for b in (1, 2, 3):
        length = int(sum(MASKS[b]))
        every = torch.tensor(list(itertools.product(range(2 * K), repeat=length)))
        padded = torch.nn.functional.pad(every, (0, T - length))
        one = chain._replace(
            unary=chain.unary[b].expand(len(every), -1, -1),
            there=chain.there[b].expand(len(every), -1),
            transitions=links[b].expand(len(every), -1, -1, -1),
        )
        value = energies(one, padded) + of_rows(parts, b).rest(padded.unsqueeze(0))[0].detach()
        weight = torch.softmax(-value, 0)
        expected = torch.einsum("s,stk->tk", weight, torch.nn.functional.one_hot(every, 2 * K).double())
        assert float((p[b, :length] - expected).abs().max()) < 0.03
        assert float(log_z[b]) == pytest.approx(float(torch.logsumexp(-value, 0)), abs=0.25)
        assert torch.equal(best[b, :length], every[value.argmin()])


def test_other_energies_are_refused():
    torch.manual_seed(0)
    energy = SumEnergy(None, [LocalEnergy(2, K), ConvEnergy(K)])
    state = energy.prepare(torch.randn(1, T, 2), torch.ones(1, T, 1))
    with pytest.raises(ConfigError, match="this one has local, conv: use EnergySpec"):
        Chain().solve(energy, state, TagSpace(K))
    with pytest.raises(ConfigError, match="EnergySpec"):
        parted(torch.nn.Linear(2, 2), state)
    with pytest.raises(ConfigError, match="viterbi"):
        Chain("best")
