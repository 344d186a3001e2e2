"""What an encoder of texts costs within the library, beside the bare one.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.text_encoder FOLDER [--out results/benchmark-text-encoder.json]

Made-up documents of 20 to 200 words. Features: documents a second of ``TextEncoder.features`` without its cache, beside a loop
over the bare network with batches of like lengths and as many tokens, both from the strings on. One document: what
``predict_proba`` of loaded classifiers on the frozen encoder takes, a linear one and the default, beside the forward pass alone.
In bfloat16: a pass of updates of adapters, and features, beside the same in float32.
Each pair is timed in turns, so that other work on the machine meets both; figures are medians, and ratios medians of the turns'
own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from enstruct import EnergyMultiLabelClassifier, TextEncoder
from enstruct.encoders.text.pretrained import TOKENS_A_BATCH, hidden, pooled
from enstruct.encoders.text.trunk import padded
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.randomness import seeded
from enstruct.training.batches import shuffled, to_features
from enstruct_bench.comparison.provenance import present_commit

METHODS = ("binary-relevance", "joint")
BATCH = 32
WORDS = ("grain", "price", "market", "ship", "export", "bank", "trade", "oil", "rate", "gold", "company", "year", "said", "new")


def documents(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(20, 200))) for _ in range(n)]


def most(encoder: TextEncoder) -> int:
    """Tokens of a text."""
    return min(encoder.max_tokens, encoder.trunk.positions)


def bare(encoder: TextEncoder, texts: list[str]) -> None:
    """The loop that a user would write."""
    trunk = encoder.trunk
    tokens = sorted(trunk.tokens(texts, most(encoder)), key=len, reverse=True)
    start = 0
    with torch.inference_mode():
        while start < len(tokens):
            batch = tokens[start : start + max(1, TOKENS_A_BATCH // len(tokens[start]))]
            numbers, there = padded(batch, 0)
            pooled(hidden(trunk.network, numbers, there), there, "mean").numpy()
            start += len(batch)


def in_turns(one: Callable[[], Any], other: Callable[[], Any], turns: int) -> dict[str, float]:
    """Median seconds of each, and of one over the other."""
    took: list[tuple[float, float]] = []
    for _ in range(turns):
        pair = []
        for call in (one, other):
            begin = time.perf_counter()
            call()
            pair.append(time.perf_counter() - begin)
        took.append((pair[0], pair[1]))
    table = np.array(took)
    ours, theirs = np.median(table, axis=0)
    return {"seconds": float(ours), "bare_seconds": float(theirs), "ratio": float(np.median(table[:, 0] / table[:, 1]))}


def updates(encoder: TextEncoder, texts: list[str]) -> Callable[[], None]:
    """A pass over the texts in which adapters get their gradients, in batches of like lengths."""
    tuned = replace(encoder, tuning="adapter")
    network, rows = tuned.network().train(), tuned.token_rows(texts)

    def once() -> None:
        with seeded(0):
            for batch in shuffled(rows, BATCH):
                network(to_features(rows[batch])).pow(2).sum().backward()

    return once


def in_bfloat16(encoder: TextEncoder, texts: list[str], turns: int) -> dict[str, list[float]]:
    """What -> documents a second in bfloat16 and in float32, and their ratio."""
    rough, exact = (replace(encoder, precision=name) for name in ("bfloat16", "float32"))
    pairs = {
        "tuning": (updates(rough, texts), updates(exact, texts)),
        "features": (lambda: rough.features(texts), lambda: exact.features(texts)),
    }
    out = {}
    for name, (one, other) in pairs.items():
        took = in_turns(one, other, turns)
        seconds = took["seconds"], took["bare_seconds"]
        out[name] = [len(texts) / seconds[0], len(texts) / seconds[1], 1 / took["ratio"]]
    return out


def loaded(method: str, encoder: TextEncoder) -> EnergyMultiLabelClassifier:
    labels = (np.arange(80)[:, None] >> np.arange(3)) & 1
    with tempfile.TemporaryDirectory() as place:
        fitted = EnergyMultiLabelClassifier(method, encoder=encoder, random_state=0).fit(documents(80, 1), labels)
        fitted.save(Path(place) / "model")
        return EnergyMultiLabelClassifier.load(Path(place) / "model")


def measured(folder: Path, n: int, turns: int) -> dict[str, Any]:
    encoder = TextEncoder(str(folder), cache=False)
    texts = documents(n, 0)
    rows = in_turns(lambda: encoder.features(texts), lambda: bare(encoder, texts), turns)
    trunk, text = encoder.trunk, sorted(texts, key=len)[n // 2]
    numbers, there = padded(trunk.tokens([text], most(encoder)), 0)

    def forward() -> None:
        with torch.inference_mode():
            hidden(trunk.network, numbers, there)

    one = {}
    for method in METHODS:
        model = loaded(method, encoder)
        one[method] = in_turns(lambda model=model: model.predict_proba([text]), forward, 10 * turns)  # type: ignore[misc]
    return {
        "parameters": sum(weights.numel() for weights in trunk.network.parameters()),
        "documents": n,
        "documents_a_second": n / rows["seconds"],
        "share_of_bare": 1 / rows["ratio"],
        "one_document": one,
        "in_bfloat16": in_bfloat16(encoder, texts, turns),
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    content = measured(options.encoder, options.documents, options.turns)
    print(content)
    if options.out is not None:
        write_json(options.out, {**content, "commit": present_commit(), "environment": environment()})


if __name__ == "__main__":
    main()
