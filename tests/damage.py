"""Files with wrong bytes in them, which a decompressor stumbles over in several ways."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np


def with_wrong_bytes(path: Path, times: int = 40, skip: int = 40) -> Iterator[None]:
    """Write ``path`` again and again with four random bytes of other values, and as it was in the end."""
    rng, whole = np.random.default_rng(0), path.read_bytes()
    for _ in range(times):
        wrong = bytearray(whole)
        for at in rng.integers(min(skip, len(whole) // 2), len(whole), 4):
            wrong[at] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(wrong))
        yield
    path.write_bytes(whole)
