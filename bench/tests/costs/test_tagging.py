"""The tagging benchmark measures what it says."""

import torch

from enstruct.energies import ChainEnergy
from enstruct_bench.costs.tagging import loop_over_time, main, sentences


def test_it_runs_and_its_loop_is_the_chain_energy():
    figures = main(["--sentences", "40", "--repetitions", "1"])
    assert set(figures["tokens_per_second"]) == {
        "energy-trained tagger, greedy",
        "energy-trained tagger, legal",
        "crf, viterbi",
        "crf, marginals",
    }
    assert figures["tokens"] == len(sentences(40).Y.tags)
    assert {"shape", "ours"} <= set(figures["viterbi"]) <= {"shape", "ours", "pytorch-crf"}  # of the same paths, or it had raised
    term = ChainEnergy(5)
    y = torch.softmax(torch.randn(2, 3, 6, 5), -1)
    assert torch.allclose(loop_over_time(term, y), term(None, y), atol=1e-5)


def test_sentences_have_the_lengths_of_news():
    lengths = sentences(3000).X.lengths
    assert 12 < lengths.mean() < 17
    assert lengths.max() > 50
