"""What rules cost at prediction: legal tags against greedy ones, a hierarchy of thousands of labels against none.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.rules [--out results/benchmark-rules.json]

Tags: a BiLSTM tagger of the library's own size on made-up sentences with BIO tags of four types, answering 2,000 sentences of 25
words; greedy, legal by the scheme, and the chain's best sequence under a rule; and the marginals of 200 sentences under one rule,
and under four that let a type be there once, which take sixteen states a tag. Labels: a cross-entropy network on made-up rows
with a random tree over 4,000 labels; its prediction with the tree as ``rules=`` and without. Both are timed as users call them,
networks and all; trained for an epoch, as what they have learnt does not count. And ten rows of the tree's labels of which half
are told: what the others are, of independent labels that the tree alone ties together, by chains.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from enstruct.data.hierarchy import Hierarchy
from enstruct.environment import environment
from enstruct.estimators import EnergyMultiLabelClassifier, EnergySequenceTagger
from enstruct.files import write_json
from enstruct.joint.distribution import independent
from enstruct.rules import RuleSystem
from enstruct.rules.tags import AtMostOnce, NeverFollows
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.costs.measuring import seconds

TYPES = ("PER", "LOC", "ORG", "MISC")
REPEATS = 5


def sentences(n: int, length: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    words = [[f"w{k}" for k in rng.integers(0, 5000, length)] for _ in range(n)]
    tags = []
    for _ in range(n):
        row: list[str] = []
        while len(row) < length:
            kind = TYPES[rng.integers(len(TYPES))]
            row += ["O"] * int(rng.integers(1, 8)) + [f"B-{kind}"] + [f"I-{kind}"] * int(rng.integers(0, 3))
        tags.append(row[:length])
    return words, tags


def of_tags(n: int = 2000, length: int = 25) -> dict[str, float]:
    words, tags = sentences(n, length, 0)
    settings: dict[str, Any] = {"max_epochs": 1, "random_state": 0}
    plain = EnergySequenceTagger("cross-entropy", **settings).fit(words[:200], tags[:200])
    ruled = EnergySequenceTagger("cross-entropy", rules=NeverFollows("I-PER", "B-LOC"), **settings).fit(words[:200], tags[:200])
    return {
        "greedy": seconds(lambda: plain.predict(words, decision="greedy"), REPEATS),
        "legal": seconds(lambda: plain.predict(words, decision="legal"), REPEATS),
        "rules": seconds(lambda: ruled.predict(words), REPEATS),
    }


def of_memories(n: int = 200, length: int = 25) -> dict[str, float]:
    """Of sentences with one span of a type at most."""
    words, tags = sentences(n, length, 0)
    for row in tags:
        there: set[str] = set()
        for t, tag in enumerate(row):
            again = tag[2:] in there if tag[0] == "B" else t > 0 and row[t - 1] == "O"
            row[t] = "O" if tag != "O" and again else tag
            there.add(row[t][2:])
    rules = {"chain": [NeverFollows("I-PER", "B-LOC")], "once": [AtMostOnce(kind) for kind in TYPES]}
    out = {}
    for name, some in rules.items():
        tagger = EnergySequenceTagger("cross-entropy", rules=some, max_epochs=1, random_state=0).fit(words, tags)
        out[name] = seconds(lambda tagger=tagger: tagger.predict_proba(words), REPEATS)  # type: ignore[misc]
    return out


def tree_of(n_labels: int) -> Hierarchy:
    """A random one."""
    rng = np.random.default_rng(0)
    return Hierarchy(n_labels, tuple((int(rng.integers(0, max(1, i // 4))), i) for i in range(1, n_labels)))


def sets_of(tree: Hierarchy, rows: int) -> NDArray[np.int64]:
    """(rows, labels) of five labels each and all above them."""
    leaves = np.zeros((rows, tree.n_labels), dtype=np.int64)
    leaves[np.arange(rows)[:, None], np.random.default_rng(1).integers(0, tree.n_labels, (rows, 5))] = 1
    parent = {child: above for above, child in tree.edges}
    for row, label in np.argwhere(leaves).tolist():
        while label in parent:
            label = parent[label]
            leaves[row, label] = 1
    return leaves


def of_told(n_labels: int = 4000, rows: int = 10) -> float:
    """Seconds of the answers for rows of which half of the labels are told."""
    tree, rng = tree_of(n_labels), np.random.default_rng(2)
    Y = sets_of(tree, rows)
    frequency = np.clip(sets_of(tree, 300).mean(0), 1e-4, 1 - 1e-4)
    logits = np.log(frequency / (1 - frequency)) + rng.standard_normal(Y.shape)
    known = np.where(rng.random(Y.shape) < 0.5, Y, np.nan).astype(np.float32)
    rules, told = RuleSystem.of(tree, range(n_labels)), torch.from_numpy(known)
    return seconds(lambda: independent(torch.from_numpy(logits), rules=rules).marginals(told), 1)


def of_labels(n_labels: int = 4000, rows: int = 1000, features: int = 100) -> dict[str, float]:
    tree = tree_of(n_labels)
    X, leaves = np.random.default_rng(0).standard_normal((rows, features)).astype(np.float32), sets_of(tree, rows)
    out = {}
    for name, rules in (("without", None), ("hierarchy", tree)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that never vary
            model = EnergyMultiLabelClassifier("cross-entropy", rules=rules, max_epochs=1, decision="threshold", random_state=0)
            model.fit(X[:300], leaves[:300])
        out[name] = seconds(lambda model=model: model.predict(X), REPEATS)  # type: ignore[misc]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    tags, memories, labels, told = of_tags(), of_memories(), of_labels(), of_told()
    print(
        f"2,000 sentences: greedy {tags['greedy']:.2f} s, legal x {tags['legal'] / tags['greedy']:.2f}, "
        f"a rule x {tags['rules'] / tags['greedy']:.2f}"
    )
    once = memories["once"] / memories["chain"]
    print(f"marginals of 200 sentences: a rule {memories['chain']:.2f} s, four types at most once x {once:.1f}")
    print(f"1,000 rows of 4,000 labels: {labels['without']:.2f} s, hierarchy x {labels['hierarchy'] / labels['without']:.2f}")
    print(f"10 rows of 4,000 labels in a hierarchy, half of them told: {told:.1f} s")
    if options.out is not None:
        seconds_of = {"tags": tags, "memories": memories, "labels": labels, "told": told}
        write_json(options.out, {**seconds_of, "commit": present_commit(), "environment": environment()})


if __name__ == "__main__":
    main()
