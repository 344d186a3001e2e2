"""Clusters: of one size, of all labels, of those whose rows are alike."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.baselines.label_clusters import DIMENSIONS, label_clusters
from enstruct.data.rows import as_indicator


def grouped(n_groups, of_each, n_features, rng):
    """Rows of one group each, with labels of it alone; the group of each label."""
    group = np.repeat(np.arange(n_groups), of_each)
    rng.shuffle(group)
    centres = rng.standard_normal((n_groups, n_features))
    of_row = rng.integers(n_groups, size=600)
    X = centres[of_row] + 0.3 * rng.standard_normal((600, n_features))
    Y = (rng.random((600, len(group))) < 0.3) & (group == of_row[:, None])
    return X, as_indicator(Y), group


@pytest.mark.parametrize("n_features", [20, 3 * DIMENSIONS])
@pytest.mark.parametrize("as_csr", [False, True])
def test_labels_of_like_rows_are_together(n_features, as_csr):
    X, Y, group = grouped(8, 6, n_features, np.random.default_rng(0))
    clusters = label_clusters(sparse.csr_matrix(X) if as_csr else X, Y, 6, seed=1)
    assert sorted(np.concatenate(clusters)) == list(range(48))
    assert sorted(map(len, clusters)) == [6] * 8
    assert sum(len(set(group[cluster])) == 1 for cluster in clusters) >= 6


@pytest.mark.parametrize(("n_labels", "size"), [(1, 1), (2, 1), (7, 3), (65, 64), (100, 7)])
def test_each_label_is_in_one_cluster_and_sizes_differ_by_little(n_labels, size):
    rng = np.random.default_rng(2)
    Y = as_indicator(rng.random((50, n_labels)) < 0.2)
    clusters = label_clusters(rng.standard_normal((50, 4)), Y, size, seed=0)
    sizes = [len(cluster) for cluster in clusters]
    assert sorted(np.concatenate(clusters)) == list(range(n_labels))
    assert max(sizes) <= size
    assert min(sizes) >= max(sizes) // 2


def test_labels_without_rows_and_rows_without_features_have_a_place():
    Y = as_indicator(np.array([[1, 0, 0, 1], [0, 1, 0, 1]]))
    clusters = label_clusters(np.zeros((2, 3)), Y, 2, seed=0)
    assert sorted(np.concatenate(clusters)) == [0, 1, 2, 3]


def test_the_same_seed_gives_the_same_clusters():
    X, Y, _ = grouped(5, 5, 30, np.random.default_rng(3))
    one, two = (label_clusters(X, Y, 4, seed=5) for _ in range(2))
    assert [list(cluster) for cluster in one] == [list(cluster) for cluster in two]
