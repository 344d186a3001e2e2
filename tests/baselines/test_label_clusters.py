"""Labels that come with like features are in one cluster, and all clusters are of one size."""

import numpy as np
from scipy import sparse
from tests.generated import grouped_labels

from enstruct.baselines.label_clusters import clustered, vectors_of_labels


def test_labels_of_like_features_are_together():
    vectors = vectors_of_labels(*grouped_labels())
    for seed in range(5):
        clusters = clustered(vectors, 2, seed)
        assert sorted(map(len, clusters)) == [6, 6, 6, 6]
        assert all(len({int(label) % 4 for label in cluster}) == 1 for cluster in clusters)


def test_sizes_differ_by_one_at_most_and_each_label_is_in_one():
    X, Y = grouped_labels(each=5)
    vectors = vectors_of_labels(X, sparse.hstack([Y, sparse.csr_matrix((400, 3), dtype=np.uint8)]).tocsr())  # three without rows
    clusters = clustered(vectors, 3, 0)
    assert {len(cluster) for cluster in clusters} == {2, 3}
    assert sorted(np.concatenate(clusters)) == list(range(23))
    for one, other in zip(clusters, clustered(vectors, 3, 0), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_label_is_the_mean_direction_of_its_rows():
    X = np.array([[2.0, 0.0], [0.0, 5.0], [3.0, 3.0]])
    Y = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]])
    vectors = vectors_of_labels(X, sparse.csr_matrix(Y)).toarray()
    np.testing.assert_allclose(vectors, [[0.5**0.5, 0.5**0.5], [0, 1], [0, 0]], atol=1e-6)
