"""Analyse a saved model (convergence, answers, search-error, measurements, refinement, interactions, line), train and watch
(starts, objectives, couplings), or compute on a toy (singular, sample-gradients)."""

from __future__ import annotations

import ast
from pathlib import Path
from pkgutil import get_data

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser

OF_A_MODEL = ("convergence", "answers", "search-error", "measurements", "refinement", "interactions", "line")
OF_A_TOY = ("singular", "sample-gradients")


def parser() -> Parser:
    return Parser(description=__doc__)


def add_actions(p: Parser) -> None:
    actions = p.add_subcommands(dest="action", required=True)
    for name in OF_A_MODEL:
        command = shared.new_parser(_summary(name))
        command.add_argument("model", type=Path, help="folder written by `enstruct train`")
        shared.add_data(command)
        _add_out(command)
        actions.add_subcommand(name, command)
    curves = shared.new_parser(_summary("starts"))
    shared.add_data(curves)
    curves.add_argument("--every", type=int, default=1, help="epochs from one record to the next")
    curves.add_argument("--steps", type=int, default=30, help="steps of inference")
    curves.add_argument("--split_seed", type=shared.Seed, default=0)
    _add_out(curves)
    shared.add_model(curves, skip=set())
    curves.set_defaults({"model.method": "seal-nce"})
    actions.add_subcommand("starts", curves)
    pairs = shared.new_parser(_summary("objectives"))
    shared.add_data(pairs)
    pairs.add_argument("--seeds", type=int, default=3)
    pairs.add_argument("--split_seed", type=shared.Seed, default=0)
    _add_out(pairs)
    shared.add_model(pairs, skip={"method", "random_state"})
    actions.add_subcommand("objectives", pairs)
    timed = shared.new_parser(_summary("couplings"))
    shared.add_data(timed)
    timed.add_argument("--seconds", type=float, default=120.0, help="of training, for each coupling")
    timed.add_argument("--split_seed", type=shared.Seed, default=0)
    _add_out(timed)
    shared.add_model(timed, skip=set())
    timed.set_defaults({"model.method": "seal-nce"})
    actions.add_subcommand("couplings", timed)
    for name in OF_A_TOY:
        toy = shared.new_parser(_summary(name))
        _add_out(toy)
        actions.add_subcommand(name, toy)


def _add_out(p: Parser) -> None:
    p.add_argument("--out", type=Path, default=Path("analysis"), help="folder for the figures (JSON) and the picture (PNG)")
    add_overwrite(p)


def module_of(kind: str) -> str:
    """Where a figure is made, below :mod:`enstruct_bench`."""
    return f"figures.{kind.replace('-', '_')}"


def _summary(kind: str) -> str:
    """The first line of the docstring of the figure's module, which is read and not imported."""
    source = get_data("enstruct_bench", f"{module_of(kind).replace('.', '/')}.py") or b""
    return (ast.get_docstring(ast.parse(source)) or "").split("\n", 1)[0]
