"""What tagging costs: an energy-trained tagger against CRF decoding on the same encoder, and the chain energy against a loop.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.tagging --out results/benchmark-tagging.json

Untrained networks of the shape trained on CoNLL-2003 (BiLSTM of 100 a direction on 50-wide words, 17 tags), sentences of its
lengths, from words in numbers to tags; the best of several repetitions. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from enstruct.data.rows import Rows
from enstruct.data.sentences import Sentences, TagSequences, offsets_of
from enstruct.data.tag_schemes import tags_of_scheme
from enstruct.decisions.tag_sequences import greedy, legal
from enstruct.encoders import BiLSTM, Predictor, TokenEmbedding
from enstruct.energies import ChainEnergy, LocalEnergy, SumEnergy
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.inference import Chain
from enstruct.inference.chain import Potentials, viterbi
from enstruct.spaces import TagSpace
from enstruct.training.batches import to_batch
from enstruct.training.predict import predict_by_inference, probabilities

TAGS, WORDS, WIDTH = 17, 20_000, 50


def sentences(n: int, seed: int = 0) -> Rows:
    """Lengths as in CoNLL-2003: fourteen and a half tokens on average, with a long tail."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(1.6, 9.0, n).astype(np.int64), 1, 110)
    total = int(lengths.sum())
    zeros = np.zeros(total, dtype=np.int64)
    tokens = np.stack([zeros, rng.integers(1, WORDS, total), 1 + zeros, 1 + zeros, zeros], axis=1)
    offsets = offsets_of(lengths)
    holes = np.zeros(total, dtype=bool)
    tags = TagSequences(rng.integers(TAGS, size=total), offsets, TAGS)
    return Rows(Sentences(tokens, offsets, holes, np.zeros((1, 1), dtype=np.int64)), tags)


def encoder() -> BiLSTM:
    return BiLSTM(TokenEmbedding(None, WORDS, WIDTH, (6, 4)), 100)


def best(work: Callable[[], Any], repetitions: int) -> float:
    seconds = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def loop_over_time(term: ChainEnergy, y: Tensor) -> Tensor:
    """The chain energy as a loop over tokens, as published systems have it."""
    energy = y[:, :, 0] @ term.start + y[:, :, -1] @ term.end  # type: ignore[operator]
    for t in range(1, y.shape[2]):
        energy = energy + (y[:, :, t - 1] @ term.transitions * y[:, :, t]).sum(-1)
    return energy


def against_pytorch_crf(repetitions: int) -> dict[str, Any]:
    """The best paths of 32 sentences, ours and pytorch-crf's where it is installed; AssertionError unless they are the same."""
    batch, length = 32, 40
    potentials = Potentials(
        torch.randn(batch, length, TAGS),
        torch.ones(batch, length, dtype=torch.bool),
        torch.randn(TAGS, TAGS),
        torch.randn(TAGS),
        torch.randn(TAGS),
    )
    figures: dict[str, Any] = {"shape": [batch, length, TAGS]}
    with torch.no_grad():
        figures["ours"] = best(lambda: viterbi(potentials), 10 * repetitions)
        try:
            from torchcrf import CRF
        except ImportError:
            return figures
        crf = CRF(TAGS, batch_first=True)
        for theirs in ("transitions", "start_transitions", "end_transitions"):
            getattr(crf, theirs).copy_(-getattr(potentials, theirs.removesuffix("_transitions")))
        figures["pytorch-crf"] = best(lambda: crf.decode(-potentials.unary, potentials.there), 10 * repetitions)
        paths = torch.tensor(crf.decode(-potentials.unary, potentials.there))
    assert torch.equal(viterbi(potentials).argmax(-1), paths), "the paths differ"
    return figures


def measure(n_sentences: int, repetitions: int) -> dict[str, Any]:
    torch.manual_seed(0)
    rows = sentences(n_sentences)
    n_tokens = len(rows.Y.tags)
    predictor = Predictor(encoder(), TAGS)
    energy = SumEnergy(encoder(), [LocalEnergy(200, TAGS), ChainEnergy(TAGS)])
    space = TagSpace(TAGS)
    holes, offsets = rows.X.holes, rows.X.offsets
    names = tags_of_scheme(["LOC", "MISC", "ORG", "PER"], "BIOES")

    def marginals() -> Any:
        return probabilities(predictor, rows.X, relax=space.relax)

    tagging = {
        "energy-trained tagger, greedy": best(lambda: greedy(marginals(), holes, offsets), repetitions),
        "energy-trained tagger, legal": best(lambda: legal(marginals(), holes, offsets, names, "BIOES"), repetitions),
        "crf, viterbi": best(
            lambda: greedy(predict_by_inference(predictor, energy, space, Chain("viterbi"), rows.X), holes, offsets), repetitions
        ),
        "crf, marginals": best(
            lambda: greedy(predict_by_inference(predictor, energy, space, Chain(), rows.X), holes, offsets), repetitions
        ),
    }
    batch = to_batch(rows.take(np.arange(32)))
    y = torch.softmax(torch.randn(32, 20, batch.y.shape[1], TAGS), -1)
    term = ChainEnergy(TAGS)
    with torch.no_grad():
        chain = {
            "product over all tokens": best(lambda: term(None, y), 20 * repetitions),
            "loop over tokens": best(lambda: loop_over_time(term, y), 20 * repetitions),
        }
    return {
        "environment": environment(),
        "sentences": n_sentences,
        "tokens": n_tokens,
        "tokens_per_second": {name: n_tokens / seconds for name, seconds in tagging.items()},
        "viterbi": against_pytorch_crf(repetitions),
        "chain_energy": {"shape": list(y.shape), "seconds": chain},
    }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=3453)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args(arguments)
    figures = measure(options.sentences, options.repetitions)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.out is not None:
        write_json(options.out, figures)
    return figures


if __name__ == "__main__":
    main()
