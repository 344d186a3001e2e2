"""What ``enstruct-bench masks`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.masks`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct_bench.cli import masks_compare


def run(options: Namespace) -> None:
    masks_compare.run(options[options.action])
