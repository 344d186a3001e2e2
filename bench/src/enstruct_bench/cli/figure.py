"""What ``enstruct-bench figure`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.figure`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli.filled import filled
from enstruct_bench.cli.parsers.figure import OF_A_TOY
from enstruct_bench.figures.commands import Couplings, Figure, Objectives, OfAModel, OfAToy, Starts

KINDS: dict[str, type[Figure]] = {
    "starts": Starts,
    "objectives": Objectives,
    "couplings": Couplings,
    **dict.fromkeys(OF_A_TOY, OfAToy),
}
"""Of the actions that do not look into a saved model by :class:`OfAModel`."""


def run(options: Namespace) -> None:
    chosen, command = options[options.action], KINDS.get(options.action, OfAModel)
    named = {"analysis": options.action} if "analysis" in command.positional else {}
    filled(command, chosen, **named).run()
