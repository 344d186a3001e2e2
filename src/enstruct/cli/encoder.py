"""What ``enstruct encoder`` does; its options are declared in :mod:`enstruct.cli.parsers.encoder`."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.tables import say
from enstruct.encoders.text import convert, download


def run(options: Namespace) -> None:
    own = options[options.action]
    if options.action == "fetch":
        folder = download(own.name, own.revision, own.pickled)
        say(f"{own.name} is in {folder}, as its checksums say: `enstruct train DATA --encoder {own.name}`")
    else:
        say(f"{convert(own.folder)} written")
