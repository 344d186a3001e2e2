"""Public collections of documents with label sets, read from the files that their publishers give out.

They lie below ``ENSTRUCT_DATA``/multilabel, one folder each, and may not be passed on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from enstruct.errors import DatasetNotFoundError, unknown_name
from enstruct_bench.texts.collections.aapd import read_aapd
from enstruct_bench.texts.collections.blurbs import read_blurbs
from enstruct_bench.texts.collections.debtags import read_debtags
from enstruct_bench.texts.collections.documents import Collection as Collection
from enstruct_bench.texts.collections.documents import Documents as Documents
from enstruct_bench.texts.collections.goemotions import read_goemotions
from enstruct_bench.texts.collections.nyt import read_nyt
from enstruct_bench.texts.collections.rcv1 import read_rcv1
from enstruct_bench.texts.collections.reuters import read_reuters

READERS: dict[str, Callable[[Path], Collection]] = {
    "reuters21578": read_reuters,
    "goemotions": read_goemotions,
    "debtags": read_debtags,
    "aapd": read_aapd,
    "bgc": read_blurbs,
    "nyt": read_nyt,
    "rcv1-v2": read_rcv1,
}


def load_collection(name: str) -> Collection:
    """ConfigError for another name, DatasetNotFoundError where it does not lie."""
    if name not in READERS:
        raise unknown_name("collection", name, READERS)
    folder = Path(os.environ.get("ENSTRUCT_DATA", "")) / "multilabel" / name
    if "ENSTRUCT_DATA" not in os.environ or not folder.is_dir():
        raise DatasetNotFoundError(
            f"{name} may not be passed on: put it at multilabel/{name} below the folder ENSTRUCT_DATA names."
        )
    return READERS[name](folder)
