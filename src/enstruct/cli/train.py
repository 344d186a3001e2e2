"""What ``enstruct train`` does; its options are declared in :mod:`enstruct.cli.parsers.train`."""

from __future__ import annotations

from typing import Any

from jsonargparse import Namespace

from enstruct.cli import options as shared
from enstruct.cli.progress import successive_bars
from enstruct.cli.tables import say
from enstruct.cli.training import resumable, say_what_is_idle
from enstruct.cli.tuned import Tuned
from enstruct.data.dataset import Dataset
from enstruct.data.impute import fill_missing, training_means
from enstruct.data.load import load
from enstruct.errors import ConfigError
from enstruct.estimators import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.estimators.members import changed
from enstruct.training.callbacks import Callback


def run(options: Namespace) -> None:
    data = load(options.data, labels=shared.label_argument(options.labels), drop=options.drop)
    means = training_means(data.X) if data.has_missing else None
    X = data.X if means is None else fill_missing(data.X, means)
    notes = {
        "source": str(options.data),
        "feature_names": list(data.feature_names),
        "label_names": list(data.label_names),
        "first_feature": data.first_feature,
        "means": None if means is None else means.tolist(),
    }
    estimator = EnergyMultiLabelClassifier if options.auto is None else AutoMultiLabelClassifier
    with resumable(options.out, options.resume, estimator) as callbacks:
        model = _automatic(options, X, data) if options.auto is not None else _single(options, X, data, callbacks)
        model.save(options.out, notes)
    scores = {name: f"{score:.4f}" for name, score in model.decision_scores_.items()}
    chosen = f"{len(model.members_)} members, answer: {model.chosen_}; " if options.auto is not None else ""
    say(
        f"{len(data)} rows, {data.X.shape[1]} features, {data.Y.shape[1]} labels; {chosen}{model.n_iter_} epochs; "
        f"decision {model.decision_}; validation {model.metric} {scores or '(no validation rows)'}; saved to {options.out}",
    )


def _single(options: Namespace, X: Any, data: Dataset, callbacks: list[Callback]) -> EnergyMultiLabelClassifier:
    given = shared.model_parameters(options)
    if options.tuned is not None:
        tuned = Tuned.read(options.tuned, given["metric"])
        given = tuned.of(given["method"], tuned.shared(given))
    model = EnergyMultiLabelClassifier(**given, random_state=options.seed, hierarchy=data.hierarchy, callbacks=callbacks)
    say_what_is_idle(model)
    return model.fit(X, data.Y)


def _automatic(options: Namespace, X: Any, data: Dataset) -> AutoMultiLabelClassifier:
    if options.resume:
        raise ConfigError("--resume goes on with one network; --auto trains several.")
    if options.tuned is not None:
        raise ConfigError("--tuned has settings of single methods; --auto has its own for several.")
    if options.model.decision != "auto":
        raise ConfigError("--auto chooses the decision rule itself: leave --model.decision out, and name a rule when predicting.")
    for name in ("early_stopping", "validation_fraction"):
        if options.model[name] != EnergyMultiLabelClassifier().get_params()[name]:
            raise ConfigError(f"--auto holds out rows in its own way: leave --model.{name} out.")
    settings = changed(shared.model_parameters(options))
    given = {"minutes": options.auto, "metric": options.model.metric, "random_state": options.seed}
    with successive_bars() as bar:
        settings |= {"hierarchy": data.hierarchy}
        return AutoMultiLabelClassifier(**given, settings=settings, callbacks=bar).fit(X, data.Y)
