"""Estimators whose settings may be columns of the method's row."""

from __future__ import annotations

from enstruct.methods.columns import COLUMNS
from enstruct.nn import EnergyLoss
from enstruct.tasks import TASKS


def configured(estimator, *method, **settings):
    """``estimator(method, ...)``, with those of the settings that are columns put into the row."""
    columns = {f"method__{name}": settings.pop(name) for name in list(settings) if name in COLUMNS}
    return estimator(*method, **settings).set_params(**columns)


def energy_loss(features_dim, n_labels, method=None, *, task="labels", **settings):
    """``EnergyLoss(features_dim, n_labels, method, task=task, ...)``, likewise."""
    columns = {name: settings.pop(name) for name in list(settings) if name in COLUMNS and name != "warmup"}
    row = TASKS[task].method(TASKS[task].default if method is None else method)
    return EnergyLoss(features_dim, n_labels, row.with_(**columns) if columns else method, task=task, **settings)
