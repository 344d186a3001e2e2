"""What a kind of output is: its parts go together."""

import pytest

from enstruct import estimators
from enstruct.errors import ConfigError
from enstruct.tasks import TASKS, Batches, Budget, Length


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_a_task_is_of_one_piece(task):
    assert task.default in task.methods
    assert set(task.energy.terms) <= set(task.terms)
    estimator = getattr(estimators, task.estimator)
    assert estimator().method == ("joint" if task.name == "labels" else task.default)
    assert estimator._task is task
    for name, row in task.methods.items():
        assert (row.name, row.cost in task.costs) == (name, True)
        assert task.space(3, row.cost).cost_name == row.cost
    with pytest.raises(ConfigError, match="Did you mean 'seal-nce'"):
        task.method("seal-nec")


def test_a_budget_is_epochs_or_as_many_as_make_the_updates():
    budget = Budget(Length(200, 5000), Length(20, 500), full_size=180)
    assert budget.epochs(budget.most, 10**6, 32) == 200
    assert budget.epochs(budget.most, 180, 32) == 834  # six batches an epoch
    assert budget.epochs(budget.patience, 180, 32) == 84
    assert budget.epochs(budget.most, 180, 180) == 5000
    sizes = [budget.epochs(budget.most, n, 32) for n in range(1, 400)]
    assert max(sizes) <= 1000
    assert min(sizes) >= 11


def test_cycles_are_shorter_in_epochs_the_more_rows_there_are():
    budget = Budget(Length(200, 5000), Length(20, 500), 180, cycle=Length(30, 300), enough=Length(10, 6000))
    assert [budget.cycle_epochs(n, 100) for n in (180, 1000, 20_000, 40_000, 10**6)] == [150, 30, 30, 15, 10]
    assert Budget(Length(200, 5000), Length(20, 500), 180).cycle_epochs(1000, 100) is None


def test_batches_grow_with_the_rows_and_rates_with_the_batches():
    batches = Batches(an_epoch=16, smallest=32, largest=128, rate=1e-3, peak=1.5e-3)
    assert [batches.size(n) for n in (1, 512, 1024, 2048, 10**6)] == [32, 32, 64, 128, 128]
    assert batches.rate_of(32, falling=False) == 1e-3
    assert batches.rate_of(128, falling=False) == 2e-3
    assert batches.rate_of(128, falling=True) == 3e-3
