"""SeqTag's likelihood and marginals against enumeration; LACO's tasks."""

import itertools

import torch

from enstruct_bench.texts.systems.queries import Laco, SeqTag
from enstruct_bench.texts.systems.states import States

N_LABELS = 4


def states():
    torch.manual_seed(1)
    return States(torch.randn(3, 6, 8), torch.arange(6) < torch.tensor([6, 2, 4]).unsqueeze(1))


def test_seqtag_is_a_chain_over_labels():
    torch.manual_seed(0)
    model = SeqTag(8, N_LABELS, hidden=8).eval()
    with torch.no_grad():
        for parameter in (model.transitions, model.start, model.end):
            parameter.normal_()
        unary = model.chain(states()).unary
    sets = torch.tensor(list(itertools.product([0, 1], repeat=N_LABELS)))
    energy = torch.stack(
        [
            sum(unary[:, t, y[t]] for t in range(N_LABELS))
            + sum(model.transitions[y[t - 1], y[t]] for t in range(1, N_LABELS))
            + model.start[y[0]]
            + model.end[y[-1]]
            for y in sets
        ],
        dim=1,
    ).detach()
    log_p = torch.log_softmax(-energy, dim=1)
    torch.testing.assert_close(model.marginals(states()), log_p.exp() @ sets.float())
    chosen = torch.tensor([3, 9, 0])
    torch.testing.assert_close(
        model.loss(states(), sets[chosen].float()).detach(), -log_p[torch.arange(3), chosen].mean(), atol=1e-5, rtol=1e-5
    )


def test_laco_asks_for_pairs_and_for_the_rest_of_a_set():
    torch.manual_seed(0)
    model, generator = Laco(8, N_LABELS, hidden=8).eval(), torch.Generator().manual_seed(0)
    z = model.queries(states())
    none = torch.eye(N_LABELS)[:3]  # no document with two labels: nothing hangs together
    assert model._pairs(z, none, generator).item() == model._conditional(z, none, generator).item() == 0
    Y = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 3)
    asked = []
    model.conditional = torch.nn.Sequential(Spy(asked), torch.nn.Linear(2 * model.queries.out_features, 1))
    model._conditional(z, Y, generator)
    given, of_label = asked[0].chunk(2, dim=-1)
    torch.testing.assert_close(of_label, z)
    for row in range(3):  # one of the two labels is given
        matches = [torch.allclose(given[row, 0], z[row, label]) for label in range(N_LABELS)]
        assert sorted(matches[:2]) == [False, True]
        assert not any(matches[2:])


class Spy(torch.nn.Module):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, x):
        self.seen.append(x)
        return x


def test_its_tasks_can_be_learnt():
    torch.manual_seed(0)
    model, generator = Laco(8, N_LABELS, hidden=8).eval(), torch.Generator().manual_seed(0)
    Y = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss = model.loss(states(), Y, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    assert torch.equal((model.marginals(states()) > 0.5).float(), Y)
