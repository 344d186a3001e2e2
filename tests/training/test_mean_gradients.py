"""Means over several batches, and over the ranks of torch.distributed: two real processes."""

import subprocess
import sys
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from enstruct import EnergyLoss
from enstruct.errors import ConfigError, DivergenceError
from enstruct.methods.columns import COLUMNS
from enstruct.tasks import TASKS
from enstruct.training.mean_gradients import MeanGradient
from enstruct.training.rank_means import RankMeans
from enstruct.training.ranks import check_equal_on_ranks, n_ranks, take_from_first_rank

STEPS = 10
SHARES = {"equal": (slice(0, 4), slice(4, 8)), "unequal": (slice(0, 6), slice(6, 8))}


def test_the_mean_over_two_batches():
    torch.manual_seed(0)
    weight, idle, x = torch.randn(3, requires_grad=True), torch.randn(2, requires_grad=True), torch.randn(7, 3)

    def of(rows):
        loss = (rows @ weight).square().mean()
        return MeanGradient(loss.detach(), torch.autograd.grad(loss, (weight, idle), allow_unused=True), len(rows))

    found, wanted = of(x[:2]).joined(of(x[2:])), of(x)
    torch.testing.assert_close((found.loss, found.gradient[0]), (wanted.loss, wanted.gradient[0]))
    assert found.gradient[1] is None
    assert found.rows == 7
    assert wanted.joined(None) is wanted


def test_one_process_alone_communicates_nothing():
    given = MeanGradient(torch.tensor(1.0), (torch.ones(2), None), 3)
    assert n_ranks() == 1
    assert given.over_ranks([torch.zeros(2), torch.zeros(1)], RankMeans()) is given
    tensor = torch.ones(2)
    take_from_first_rank([tensor])
    check_equal_on_ranks(torch.device("cpu"), "", updates=1)
    assert tensor._version == 0


class Normed(torch.nn.Module):
    """An energy of one's own with running statistics, and a parameter that no loss sees."""

    def __init__(self):
        super().__init__()
        self.norm, self.scores = torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3)
        self.idle = torch.nn.Parameter(torch.ones(2))

    def forward(self, x, y):
        return (y * self.scores(self.norm(x)).unsqueeze(1)).sum(-1)


class Idle(Normed):
    """As deterministic in a shard as in the joined batch: without statistics of batches."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.Identity()


def rows(step, outputs="labels"):
    rng = torch.Generator().manual_seed(step)
    places = {"labels": (), "tags": (4,)}[outputs]
    logits = torch.randn(8, *places, 3, generator=rng, dtype=torch.float64)
    y = torch.randint(3 if places else 2, logits.shape[:-1] if places else logits.shape, generator=rng)
    return logits, y, torch.randn(8, *places, 5, generator=rng, dtype=torch.float64)


def criterion(seed=0, energy=None, **changes):
    torch.manual_seed(seed)
    columns = {name: changes.pop(name) for name in list(changes) if name in COLUMNS and name != "warmup"}
    row = TASKS[changes.get("task", "labels")].methods["seal-margin"].with_(**columns)
    return EnergyLoss(5, 3, row, energy and energy(), energy_learning_rate=0.02, **changes).double()


def trained(loss, shard=slice(None), outputs="labels", pieces=1):
    """Ten updates on a shard of the rows."""
    losses = []
    for step in range(STEPS):
        parts = [part[shard].chunk(pieces) for part in rows(step, outputs)]
        for piece in zip(*parts, strict=True):
            loss(*piece)
        losses.append(loss.update())
    return {"weights": [*loss.parameters()], "buffers": [*loss.buffers()], "losses": losses}


def in_a_users_loop(rank):
    """With the network under DistributedDataParallel, random negatives and other data on each rank; each built its own energy."""
    torch.manual_seed(rank)
    net = DistributedDataParallel(torch.nn.Linear(6, 5 + 3))
    loss = EnergyLoss(5, 3, "seal-nce", energy_network=Normed(), warmup=0, energy_learning_rate=0.02)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(STEPS):
        features, logits = net(torch.randn(4, 6)).split([5, 3], dim=-1)
        value = loss(logits, (torch.rand(4, 3) < 0.4).float(), features)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        loss.update()
    return {"weights": [*net.parameters(), *loss.parameters()], "buffers": [*loss.buffers()]}


def refused(rank):
    """What each rank is told where states differ, at the first batch and later, and where one rank's numbers are none."""
    told = []
    first, later, lost = criterion(), criterion(), criterion()
    other = criterion()
    other.n_updates = 3
    if rank == 0:
        first.load_state_dict(other.state_dict())
    later(*rows(0))
    if rank == 0:
        later.load_state_dict(other.state_dict())
        later(*rows(0))
    lost(*rows(0))
    if rank == 1:
        batch, logits = lost._seen
        lost._seen = batch, logits * torch.nan
    for call in (lambda: first(*rows(0)), later.update, lost.update):
        try:
            call()
        except (ConfigError, DivergenceError) as error:
            told.append(f"{type(error).__name__}: {error}")
    return told


def worker(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2, timeout=timedelta(seconds=60)
    )
    found = {name: trained(criterion(seed=rank, energy_clip=0.1), share[rank]) for name, share in SHARES.items()}
    share = SHARES["unequal"][rank]
    found["tags"] = trained(criterion(seed=rank, task="tags"), share, "tags")
    found["accumulated"] = trained(criterion(seed=rank), share, pieces=2)
    found["steps"] = trained(criterion(seed=rank, energy_steps=2), share)
    found["augmented"] = trained(criterion(seed=rank, negatives="cost-augmented"), share)
    found["idle"] = trained(criterion(seed=rank, energy=Idle), share)
    found["loop"] = in_a_users_loop(rank)
    found["refused"] = refused(rank)
    torch.save(found, f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What two processes found, that of each."""
    folder = tmp_path_factory.mktemp("ranks")
    commands = [[sys.executable, __file__, str(rank), str(folder)] for rank in range(2)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    told = [process.communicate(timeout=120)[1] for process in running]
    assert all(process.returncode == 0 for process in running), told
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


@pytest.mark.parametrize("case", ["equal", "unequal", "tags", "accumulated", "steps", "augmented", "idle", "loop"])
def test_all_ranks_keep_one_energy(ranks, case):
    a, b = (found[case] for found in ranks)
    for part in ("weights", "buffers"):
        assert len(a[part]) == len(b[part])
        assert all(torch.equal(x, y) for x, y in zip(a[part], b[part], strict=True))


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        ("equal", {"energy_clip": 0.1}),
        ("unequal", {"energy_clip": 0.1}),
        ("tags", {"task": "tags"}),
        ("accumulated", {}),
        ("steps", {"energy_steps": 2}),
        ("augmented", {"negatives": "cost-augmented"}),
        ("idle", {"energy": Idle}),
    ],
)
def test_two_ranks_train_as_one_process_on_the_joined_batch(ranks, case, changes):
    alone = criterion(**changes)
    wanted = trained(alone, outputs=changes.get("task", "labels"))
    torch.testing.assert_close(ranks[0][case]["weights"], wanted["weights"])
    for found in ranks:
        torch.testing.assert_close(found[case]["losses"], wanted["losses"])


def test_states_that_differ_are_refused_on_every_rank(ranks):
    for told in (found["refused"] for found in ranks):
        assert len(told) == 3
        assert all(
            message.startswith("ConfigError: The ranks") and "differ in updates: 0 to 3" in message for message in told[:2]
        )
        assert told[2].startswith("DivergenceError: The energy's loss became nan at its update 1")


if __name__ == "__main__":  # a rank: started by its path, since spawning would look for this module by its name
    worker(int(sys.argv[1]), sys.argv[2])
