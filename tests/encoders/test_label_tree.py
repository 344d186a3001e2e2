"""The label tree: marginals against the formula label by label, and what is not looked at."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.encoders import LabelTree, label_tree
from enstruct.encoders.sparse_mlp import csr_batch

CLUSTERS = [np.array([4, 0]), np.array([2]), np.array([1, 3])]


@pytest.fixture
def tree():
    torch.manual_seed(0)
    made = LabelTree.of_clusters(CLUSTERS, 3).double().eval()
    with torch.no_grad():
        for part in (made.clusters.bias, made.labels.weight, made.share, made.shift):
            part.normal_()
    return made


def marginals(tree, x, looked_at):
    """p of each label, cluster by cluster; ``looked_at``: the numbers of clusters that are."""
    h = tree.encoder(x)
    p = np.empty((len(x), 5))
    for row in range(len(x)):
        active = torch.sigmoid(tree.clusters(h[row]))
        for c, cluster in enumerate(CLUSTERS):
            for place, label in enumerate(cluster):
                w = tree.labels.weight[c].view(tree.size, -1)[place]
                z = w[:-1] @ h[row] + w[-1]
                p[row, label] = active[c] * torch.sigmoid(z if c in looked_at(active) else tree.share[label])
    return p


def test_logits_are_those_of_the_two_factors(tree):
    x = torch.randn(6, 3, dtype=torch.float64)
    with torch.no_grad():
        p, logits = marginals(tree, x, lambda active: range(3)), tree(x)
        torch.testing.assert_close(logits - tree.shift, torch.logit(torch.from_numpy(p)))
        torch.testing.assert_close(tree(csr_batch(sparse.csr_matrix(x.numpy()), torch.float64)), logits)


def test_labels_beyond_the_beam_have_their_share(tree, monkeypatch):
    monkeypatch.setattr(label_tree, "BEAM", 1)
    x = torch.randn(6, 3, dtype=torch.float64)
    with torch.no_grad():
        p, logits = marginals(tree, x, lambda active: [int(active.argmax())]), tree(x)
    torch.testing.assert_close(logits - tree.shift, torch.logit(torch.from_numpy(p)))


def test_pairs_are_rows_and_clusters(tree):
    h, clusters = torch.randn(4, label_tree.HIDDEN, dtype=torch.float64), torch.tensor([2, 0, 2, 1])
    within = tree.within(h, clusters)
    for pair, c in enumerate(clusters.tolist()):
        weights = tree.labels.weight[c].view(tree.size, -1)
        torch.testing.assert_close(within[pair], weights[:, :-1] @ h[pair] + weights[:, -1])


def test_logits_are_finite_in_single_precision_whatever_the_weights(tree):
    with torch.no_grad():
        for sign in (1, -1):
            tree.clusters.bias.fill_(sign * 1e4)
            tree.labels.weight.fill_(sign * 1e4)
            assert tree.float()(torch.zeros(2, 3)).isfinite().all()


def test_it_is_restored_from_its_tensors_and_from_no_others(tree):
    tensors = {name: tensor.clone() for name, tensor in tree.float().state_dict().items()}
    again, x = LabelTree.restored(tensors, 3, 5), torch.randn(2, 3)
    assert torch.equal(again(x), tree(x))
    for wrong in ([[0, 1], [2, 3], [4, 4]], [[0, 1], [2, 3], [-1, -1]], [[0, 1], [2, 3], [4, 5]]):
        with pytest.raises(ValueError, match="label tree"):
            LabelTree.restored({**tensors, "members": torch.tensor(wrong)}, 3, 5)
    for name, tensor in (("members", torch.zeros(3)), ("members", torch.zeros(3, 2))):
        with pytest.raises(ValueError, match="label tree"):
            LabelTree.restored({**tensors, name: tensor}, 3, 5)
    with pytest.raises(RuntimeError):
        LabelTree.restored({**tensors, "shift": torch.zeros(7)}, 3, 5)
