"""Generated documents."""

from enstruct_bench.comparison.sparse_topics import sparse_topics


def test_the_shape_is_the_one_asked_for():
    topics = sparse_topics(100, 50, 20)
    assert (topics.X.shape, topics.Y.shape) == ((100, 50), (100, 20))
    assert topics.Y.max() == 1
