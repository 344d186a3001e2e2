"""Generated data: label sets of exclusive blocks, pictures of ellipses.

Block-exclusive label sets (SPEN paper, section 7.3):

    X ~ N(0, 1)^(n x 64),  A ~ N(0, 1)^(64 x 16),  Z = X A in 4 blocks of 4 columns
    y_j = 1 where z_j is the largest of its block

Exactly one label a block is on, so a model that knows the blocks needs far fewer rows than one that must
discover them through x.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.validation import check_whole


def block_exclusive(rows: int = 1500, seed: int = 0) -> Dataset:
    """``seed`` draws X; A is the same for all, so that all data sets come from one task."""
    check_whole(1, rows=rows)
    A = np.random.default_rng([0, 1]).standard_normal((64, 16))
    X = np.random.default_rng([seed, 2]).standard_normal((rows, 64))
    Z = (X @ A).reshape(rows, 4, 4)
    Y = (Z.max(axis=2, keepdims=True) == Z).reshape(rows, -1).astype(np.uint8)
    names = tuple(f"x{i}" for i in range(64)), tuple(f"b{i // 4}.{i % 4}" for i in range(16))
    return Dataset(X, sparse.csr_matrix(Y), *names, name="block-exclusive")


def ellipses(images: int = 100, size: int = 32, noise: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noisy grey pictures of an ellipse, (images, size, size) in [0, 1], and their masks of 0 and 1.

    A bar of the background's brightness lies across each: what is behind it only the shape tells.
    """
    check_whole(1, images=images, size=size)
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / size
    pixels, masks = np.empty((images, size, size), dtype=np.float32), np.empty((images, size, size), dtype=np.int64)
    for i in range(images):
        (a, b), angle = rng.uniform(0.15, 0.32, 2), rng.uniform(0, np.pi)
        u, v = x - rng.uniform(0.35, 0.65), y - rng.uniform(0.35, 0.65)
        along, across = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
        masks[i] = (along / a) ** 2 + (across / b) ** 2 <= 1
        start = rng.uniform(0.2, 0.7)
        seen = masks[i] * ~((y >= start) & (y < start + 0.12))
        pixels[i] = np.clip(0.35 + 0.3 * seen + noise * 0.3 * rng.standard_normal((size, size)), 0, 1)
    return pixels, masks
