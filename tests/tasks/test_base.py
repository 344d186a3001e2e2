"""What a kind of output is: its parts go together."""

import pytest

from enstruct import estimators
from enstruct.errors import ConfigError
from enstruct.tasks import TASKS, Budget


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
    budget = Budget(epochs=200, updates=5000, patience_epochs=20, patience_updates=500, full_size=180)
    assert budget.max_epochs(10**6, 32) == 200
    assert budget.max_epochs(180, 32) == 834  # six batches an epoch
    assert budget.patience(180, 32) == 84
    assert budget.max_epochs(180, 180) == 5000
    sizes = [budget.max_epochs(n, 32) for n in range(1, 400)]
    assert max(sizes) <= 1000
    assert min(sizes) >= 11
