"""Tagged sentences for tests of commands."""

import numpy as np


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
