"""What ``enstruct-bench tags`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.tags`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli import tags_compare, tags_light

ACTIONS = {"compare": tags_compare, "light": tags_light}


def run(options: Namespace) -> None:
    ACTIONS[options.action].run(options[options.action])
