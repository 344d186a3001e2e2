"""Writing labels one after another: the beam against all ways to write, masks, SGM's embedding."""

import itertools

import pytest
import torch

from enstruct_bench.texts.systems.decoder import LabelWriter, beam
from enstruct_bench.texts.systems.states import States

N_LABELS = 3


@pytest.fixture(params=[(True, False), (True, True), (False, False)], ids=["once", "doubts", "again"])
def writer(request):
    torch.manual_seed(0)
    once, doubts = request.param
    made = LabelWriter(8, N_LABELS, hidden=6, once=once, doubts=doubts).eval()
    with torch.no_grad():
        made.out.weight.mul_(8)  # so that some ways are likelier than others
    return made


@pytest.fixture
def states():
    torch.manual_seed(1)
    return States(torch.randn(4, 7, 8), torch.arange(7) < torch.tensor([7, 3, 5, 1]).unsqueeze(1))


@torch.no_grad()
def log_probability(writer, states, sequence):
    """(documents,) of writing this sequence, END included, and nothing else."""
    text, so_far = writer.read(states)
    total = torch.zeros(len(so_far.last))
    for label in sequence:
        log_p, so_far = writer.step(text, so_far)
        total += log_p[:, label]
        so_far = writer.wrote(so_far, torch.full_like(so_far.last, label))
    return total


def test_the_probabilities_of_all_ways_to_write_sum_to_one(writer, states):
    if not writer.once:
        pytest.skip("there is no end to ways to write a label again")
    ways = [(*way, N_LABELS) for n in range(N_LABELS + 1) for way in itertools.permutations(range(N_LABELS), n)]
    total = torch.stack([log_probability(writer, states, way) for way in ways]).exp().sum(0)
    torch.testing.assert_close(total, torch.ones(4))


def test_a_beam_as_wide_as_there_are_ways_has_the_exact_marginals(writer, states):
    most = N_LABELS if writer.once else 2
    choose = itertools.permutations if writer.once else lambda labels, n: itertools.product(labels, repeat=n)
    ended = [(*way, N_LABELS) for n in range(most + 1) for way in choose(range(N_LABELS), n)]
    cut = [] if writer.once else list(itertools.product(range(N_LABELS), repeat=most + 1))
    p = torch.stack([log_probability(writer, states, way) for way in [*ended, *cut]]).exp()
    expected = torch.stack([p[[label in way for way in [*ended, *cut]]].sum(0) for label in range(N_LABELS)], dim=1)
    torch.testing.assert_close(beam(writer, states, most, width=60), expected, atol=1e-5, rtol=1e-5)


def test_a_narrow_beam_keeps_the_likeliest(writer, states):
    marginals = beam(writer, states, N_LABELS, width=1)
    assert set(marginals.unique().tolist()) <= {0.0, 1.0}
    for document, of_beam in enumerate(marginals):
        alone = States(states.values[document : document + 1], states.there[document : document + 1])
        with torch.no_grad():
            text, so_far = writer.read(alone)
            written: set[int] = set()
            for _ in range(N_LABELS + 1):
                log_p, so_far = writer.step(text, so_far)
                label = log_p.argmax(1)
                if int(label) == N_LABELS:
                    break
                written.add(int(label))
                so_far = writer.wrote(so_far, label)
        assert {*of_beam.nonzero().flatten().tolist()} == written


def test_padding_changes_nothing(writer, states):
    alone = States(states.values[1:2, :3], states.there[1:2, :3])
    torch.testing.assert_close(beam(writer, alone, 2), beam(writer, states, 2)[1:2], atol=1e-5, rtol=1e-4)


def test_what_was_doubted_is_seen(states):
    torch.manual_seed(0)
    writer = LabelWriter(8, N_LABELS, hidden=6, doubts=True).eval()
    text, so_far = writer.read(states)
    _, so_far = writer.step(text, so_far)
    so_far = writer.wrote(so_far, torch.zeros_like(so_far.last))
    other = so_far._replace(p=so_far.p.roll(1, dims=1))
    assert not torch.equal(writer.step(text, so_far)[0], writer.step(text, other)[0])
    e, e_all = writer.embedding.weight, so_far.p @ writer.embedding.weight[: N_LABELS + 1]
    share = torch.sigmoid(writer.gates[0](e[:1]) + writer.gates[1](e_all))
    torch.testing.assert_close(writer._embedded(so_far), (1 - share) * e[:1] + share * e_all)
