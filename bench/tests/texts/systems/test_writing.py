"""Losses of writers of labels against sums over ways to write."""

import torch

from enstruct_bench.texts.systems.decoder import LabelWriter
from enstruct_bench.texts.systems.states import States
from enstruct_bench.texts.systems.writing import completion, in_order, teacher

from .test_decoder import log_probability

N_LABELS = 3


def made(**options):
    torch.manual_seed(0)
    return LabelWriter(8, N_LABELS, hidden=6, **options).eval()


def states():
    torch.manual_seed(1)
    return States(torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool))


def test_labels_in_the_order_of_their_frequency():
    Y = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert in_order(Y, torch.tensor([2, 0, 1]), 3).tolist() == [[2, 0, 3, -1], [3, -1, -1, -1], [2, 0, 1, 3]]


def test_the_teacher_asks_for_one_order():
    Y, order = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), torch.tensor([2, 0, 1])
    for options in ({}, {"doubts": True}, {"once": False}):
        writer = made(**options)
        first, second = log_probability(writer, states(), (2, 0, 3))[0], log_probability(writer, states(), (1, 3))[1]
        torch.testing.assert_close(teacher(writer, states(), Y, order), -(first + second) / 2)


def test_completion_is_the_divergence_from_what_is_left_to_write():
    """With one true label the prefix (), if END comes first, or the way on is all that can be sampled of two steps."""
    writer = made()
    with torch.no_grad():
        writer.out.bias.copy_(torch.tensor([0.0, 40.0, 0.0, 0.0]))  # label 1 is written first, for sure
    Y, x = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]), states()
    text, so_far = writer.read(x)
    log_p, so_far = writer.step(text, so_far)
    first = -(log_p[:, 0] + log_p[:, 1]) / 2 - torch.log(torch.tensor(2.0))
    log_p, _ = writer.step(text, writer.wrote(so_far, torch.tensor([1, 1])))
    expected = (first - log_p[:, 0]).mean()  # label 0 alone is left
    found = completion(writer, x, Y, 1, torch.Generator().manual_seed(0))
    torch.testing.assert_close(found, expected)


def test_completion_is_over_where_the_end_is_written():
    writer = made()
    with torch.no_grad():
        writer.out.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 40.0]))
    x, Y = states(), torch.zeros(2, 3)
    log_p, _ = writer.step(*writer.read(x))
    torch.testing.assert_close(completion(writer, x, Y, 3, torch.Generator().manual_seed(0)), -log_p[:, 3].mean())
