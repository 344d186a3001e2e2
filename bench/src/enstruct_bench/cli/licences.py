"""What ``enstruct-bench licences`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.licences`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.tables import say
from enstruct.errors import ConfigError
from enstruct_bench.licences import UNKNOWN, dependencies


def run(options: Namespace) -> None:
    if options.pyproject is not None and not options.pyproject.is_file():
        raise ConfigError(f"There is no file {options.pyproject}.")
    found = dependencies(options.pyproject)
    for one in found:
        say(f"{one.name:32} {one.version:18} {one.licence}" + (f"  ({one.of})" if one.of else ""))
    undeclared = [one.name for one in found if one.licence == UNKNOWN]
    say(
        f"{len(found)} packages, {len(undeclared)} of which declare no licence"
        + (f": {', '.join(undeclared)}" if undeclared else "")
    )
    if undeclared:
        raise SystemExit(1)
