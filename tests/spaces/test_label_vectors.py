"""Sparse label vectors do what dense ones do."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from enstruct.spaces.label_vectors import LabelVectors, beside, inner, project, stack


def random_binary(batch: int, samples: int, labels: int, seed: int, rate: float = 0.3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(batch, samples, labels, generator=generator) < rate).float()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(0, 999))
def test_inner_project_sizes_equal_dense(batch, samples, labels, seed):
    dense = random_binary(batch, samples, labels, seed)
    y = LabelVectors.from_dense(dense)
    weights, matrix = torch.randn(batch, labels).double(), torch.randn(labels, 3).double()
    assert torch.equal(y.to_dense(), dense)
    torch.testing.assert_close(inner(y, weights), inner(dense.double(), weights))
    torch.testing.assert_close(project(y, matrix), project(dense.double(), matrix))
    assert torch.equal(y.sizes, dense.sum(-1).long())


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 999))
def test_stack_equals_concatenation(one, two, seed):
    a, b = random_binary(3, one, 5, seed), random_binary(3, two, 5, seed + 1)
    joined = stack(LabelVectors.from_dense(a), LabelVectors.from_dense(b))
    assert isinstance(joined, LabelVectors)
    assert torch.equal(joined.to_dense(), torch.cat([a, b], 1))
    assert torch.equal(beside(a[:, 0], LabelVectors.from_dense(b)).to_dense(), torch.cat([a[:, :1], b], 1))
    assert torch.equal(beside(a[:, 0], b), torch.cat([a[:, :1], b], 1))


def test_gradients_of_sparse_operations_equal_dense():
    dense = random_binary(4, 3, 6, 5)
    y = LabelVectors.from_dense(dense)
    for make, operation in ((lambda: torch.randn(4, 6), inner), (lambda: torch.randn(6, 2), project)):
        a = make().requires_grad_()
        b = a.detach().clone().requires_grad_()
        operation(y, a).square().sum().backward()
        operation(dense, b).square().sum().backward()
        torch.testing.assert_close(a.grad, b.grad)


def test_empty_vectors():
    y = LabelVectors.from_dense(torch.zeros(2, 3, 4))
    assert y.indices.numel() == 0
    assert torch.equal(inner(y, torch.randn(2, 4)), torch.zeros(2, 3))
    assert torch.equal(project(y, torch.randn(4, 5)), torch.zeros(2, 3, 5))


@pytest.mark.parametrize("labels", [100, 10_000])
def test_work_grows_with_active_labels_not_with_all(labels):
    y = LabelVectors.from_dense(torch.nn.functional.one_hot(torch.tensor([[1, 2], [3, 4]]), labels).float())
    assert y.indices.numel() == 4
    assert y.offsets.numel() == 5
