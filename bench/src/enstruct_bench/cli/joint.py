"""What ``enstruct-bench joint`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.joint`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli.filled import filled
from enstruct_bench.joint.command import Joint


def run(options: Namespace) -> None:
    filled(Joint, options).run()
