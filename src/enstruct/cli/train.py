"""What ``enstruct train`` does; its options are declared in :mod:`enstruct.cli.parsers.train`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.options import side_by_side
from enstruct.cli.ranks import launched
from enstruct.cli.tables import counted, say
from enstruct.cli.task_files import files_of
from enstruct.cli.training import how_trained, resumable, say_what_is_idle


def run(options: Namespace) -> None:
    with launched() as first:
        _train(options, first)


def _train(options: Namespace, first: bool) -> None:
    """``first``: whether this process saves and speaks for all that train together."""
    files = files_of(options.task)
    training = files.training(options)
    model = files.estimator(options, training)
    with resumable(options.out, options.resume, model, first), side_by_side(options):
        if first:
            say_what_is_idle(model, options)
        model.fit(**training.fit)
        if first:
            model.save(options.out, training.notes)
    if not first:
        return
    scores = ", ".join(f"{name} {100 * score:.2f}" for name, score in model.decision_scores_.items())
    watched = f"validation {getattr(model, 'metric_', model.metric)} {scores}" if scores else "nothing held out"
    how = f"{how_trained(model)}; decision {model.decision_}; {watched}"
    say(f"{counted({**training.counts, files.outputs: len(model.classes_)})}; {how}; saved to {options.out}")
