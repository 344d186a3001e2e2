"""A small model of every kind as this version saves it, with rows and its answers, for the tests of versions to come.

python -m enstruct_bench.campaigns.fixtures tests/fixtures/models/VERSION
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct.files import write_json
from enstruct_bench.campaigns.small_models import MAKERS, small


def write(out: Path) -> None:
    """OUT/KIND, the model, and OUT/KIND.json: {"rows": ..., "answers": {call: [...]}} with arrays as lists."""
    torch.set_num_threads(1)
    for kind in MAKERS:
        one = small(kind)
        one.model.save(out / kind.replace(" ", "-"))
        answers = {name: [_plain(each) for each in told] for name, told in one.answers().items()}
        write_json(out / f"{kind.replace(' ', '-')}.json", {"rows": _plain(one.rows), "answers": answers})


def _plain(value: Any) -> Any:
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        return np.round(value.astype(float), 7).tolist() if value.dtype.kind == "f" else value.tolist()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    write(Path(sys.argv[1]))
