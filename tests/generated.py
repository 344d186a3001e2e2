"""Generated sentences, pictures and label sets, and files of them, for the tests of both distributions."""

from pathlib import Path

import numpy as np
from PIL import Image
from scipy import sparse

from enstruct.data.conll import write_conll
from enstruct.data.synthetic import ellipses

FAST_TAGGER = ["--model.hidden", "8", "--model.embedding_dim", "6", "--model.batch_size", "8", "--model.learning_rate", "0.02"]
FAST_SEGMENTER = ["--model.width", "4", "--model.levels", "2", "--model.batch_size", "8", "--model.max_epochs", "2"]
"""Options of commands."""


def make_sentences(n, seed=0):
    """Names of one to three words after "mr", places after "in"; the words themselves are ambiguous, and some are lower case."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        words, names = [], []
        for _ in range(rng.integers(1, 4)):
            cue, kind = [("mr", "PER"), ("in", "LOC"), ("the", None)][rng.integers(3)]
            k = rng.integers(1, 4)
            span = [f"{'Wx'[rng.integers(2)]}{rng.integers(12)}" for _ in range(k)]
            words += [cue, *span, "."]
            names += ["O", *([f"B-{kind}", *[f"I-{kind}"] * (k - 1)] if kind else ["O"] * k), "O"]
        sentences.append(words)
        tags.append(names)
    return sentences, tags


def write_sentences(folder: Path) -> Path:
    """train.conll and test.conll."""
    for name, seed in (("train", 0), ("test", 1)):
        (folder / f"{name}.conll").write_text(write_conll(*make_sentences(80, seed)))
    return folder


def write_pictures(folder: Path, n: int, seed: int) -> None:
    """Of images and their masks, n files each."""
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True)
    for i, (image, mask) in enumerate(zip(*ellipses(n, 16, 0.3, seed), strict=True)):
        Image.fromarray((255 * image).astype(np.uint8)).save(folder / "images" / f"{seed}-{i:02d}.png")
        Image.fromarray((255 * mask).astype(np.uint8)).save(folder / "masks" / f"{seed}-{i:02d}.png")


def write_picture_parts(folder: Path) -> Path:
    """set/train, set/val and set/test."""
    for seed, (part, n) in enumerate((("train", 20), ("val", 8), ("test", 8))):
        write_pictures(folder / "set" / part, n, seed)
    return folder


def grouped_labels(groups=4, each=6, rows=400, seed=0):
    """Rows of one group each, whose labels and features are its own; label g + groups * k is of group g."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=rows)
    X, Y = np.zeros((rows, 10 * groups)), np.zeros((rows, groups * each), dtype=np.uint8)
    for row, g in enumerate(group):
        X[row, 10 * g + rng.permutation(10)[:5]] = 1
        Y[row, g + groups * rng.permutation(each)[:2]] = 1
    return sparse.csr_matrix(X), sparse.csr_matrix(Y)
