"""What a fitted classifier of label sets answers: logits, marginals, label sets, for a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit, softmax

from enstruct.decisions.choose import RULES
from enstruct.decisions.thresholds import sets_of_size
from enstruct.estimators.label_data import LabelData
from enstruct.estimators.label_rules import LabelRules
from enstruct.estimators.legality import Legality
from enstruct.estimators.networks import check_bytes
from enstruct.estimators.posterior import EnergyPosterior
from enstruct.joint.distribution import independent
from enstruct.randomness import generator
from enstruct.spaces import LabelSpace
from enstruct.spaces.label_vectors import dense
from enstruct.training.batches import row_blocks
from enstruct.training.predict import Networks
from enstruct.validation import one_of, optional

CERTAIN = 30.0
"""Logit of a label that never varied in training."""


@dataclass(frozen=True)
class LabelAnswers:
    """``X`` everywhere: (rows, features) as the networks take them. ``any_precision``: whether these know double precision."""

    networks: Networks
    data: LabelData
    rules: LabelRules
    posterior: Callable[[], EnergyPosterior | None]
    legality: Legality | None
    any_precision: bool

    def logits(self, X: Any, refine: int | None = None) -> NDArray[Any]:
        """(rows, labels that vary)."""
        return self._of_networks(X, refine, relaxed=False)

    def marginals(self, X: Any, refine: int | None = None) -> NDArray[np.float64]:
        """(rows, labels that vary)."""
        if refine is None and self.networks.method.inference is None:
            return np.asarray(expit(self.logits(X)))
        return self._of_networks(X, refine, relaxed=True)

    def _of_networks(self, X: Any, refine: int | None, relaxed: bool) -> NDArray[Any]:
        """In the precision of X; in single precision where a network of one's own knows no other."""
        if X.dtype == np.float64:
            try:
                return self.networks.answer(X, refine, relaxed, dtype=torch.float64)
            except RuntimeError:
                if self.any_precision:
                    raise
        return self.networks.answer(X, refine, relaxed)

    def log_odds(self, X: Any) -> NDArray[np.float64]:
        """(rows, labels), of constant labels -30 or 30; of a single label of two classes (rows,) those of the second."""
        constants = self.data.constants
        logits = constants.expand_numbers(self.logits(X), np.where(constants.values == 1, CERTAIN, -CERTAIN))
        if self.data.single and logits.shape[1] == 2:
            return np.asarray(log_expit(logits[:, 1]) - log_expit(logits[:, 0]))
        return logits

    def probabilities(self, X: Any, refine: int | None) -> NDArray[np.float64]:
        """(rows, labels); of a single label they sum to one."""
        constants = self.data.constants
        p = np.empty((X.shape[0], len(constants.values)))
        for block in self._blocks(X):
            if self.data.single:  # a class without weight has no chance
                p[block] = softmax(log_expit(constants.expand_numbers(self.logits(X[block], refine), -np.inf)), axis=1)
            else:
                marginals = constants.expand_numbers(self.legal(self.marginals(X[block], refine)))
                p[block] = marginals
        return p

    def label_sets(self, X: Any, decision: str | None, refine: int | None) -> sparse.csr_matrix:
        """(rows, labels) by a rule, by default the one in force; a single label is the most probable whatever the rule."""
        if self.data.single:
            optional(one_of("decision rule", RULES))("decision", decision)
            return self.most_probable(X, 1, refine)
        return self._stacked(X, lambda block: self.decided(block, self.marginals(block, refine), decision))

    def by_rule(self, X: Any) -> dict[str, sparse.csr_matrix]:
        """Fitted rule -> (rows, labels), from one pass of the networks."""
        parts: dict[str, list[sparse.csr_matrix]] = {name: [] for name in self.rules.rules}
        for block in self._blocks(X):
            p = self.legal(self.marginals(X[block]))
            for name in parts:
                parts[name].append(self._of_legal(X[block], p, name))
        return {name: sparse.vstack(blocks, format="csr") for name, blocks in parts.items()}

    def most_probable(self, X: Any, k: int, refine: int | None) -> sparse.csr_matrix:
        """(rows, labels) by logits, as marginals near 1 tie; of all labels, those that never varied too."""
        constants, k = self.data.constants, 1 if self.data.single else k
        always = np.where(constants.values == 1, np.inf, -np.inf)

        def most(block: Any) -> sparse.csr_matrix:
            logits = self.logits(block, refine)
            chosen = sets_of_size(constants.expand_numbers(logits, always), k)
            return self._kept(chosen, expit(logits))

        return self._stacked(X, most)

    def decided(self, X: Any, p: NDArray[Any], decision: str | None) -> sparse.csr_matrix:
        """(rows, labels) from marginals of the labels that vary."""
        return self._of_legal(X, self.legal(p), decision)

    def _of_legal(self, X: Any, p: NDArray[Any], decision: str | None) -> sparse.csr_matrix:
        label_sets = sets_of_size(p, 1) if self.data.single else self.rules.named(decision, self.posterior).predict(p, X)
        return self._kept(self.data.constants.expand_indicator(label_sets), p)

    def sample(self, X: Any, n: int) -> NDArray[np.uint8]:
        """(rows, n, labels) independent draws from the predictor's distribution, by the random numbers of now."""
        logits = torch.from_numpy(self.logits(X))
        check_bytes("The draws", logits.numel() * n, "n=, or the number of rows,")
        if self.legality is None:
            drawn = dense(LabelSpace(logits.shape[1]).sample(logits, n)).numpy()
        else:
            drawn = (
                independent(logits, int(torch.randint(2**31, (), generator=generator("cpu"))), self.legality.varying)
                .apart()
                .sample(n)
                .numpy()
            )
        return self.data.constants.expand_numbers(drawn).astype(np.uint8)

    def legal(self, p: NDArray[Any]) -> NDArray[Any]:
        """Marginals (rows, labels that vary), once the rules are known to hold."""
        return p if self.legality is None else self.legality.marginals(p)

    def _kept(self, label_sets: sparse.csr_matrix, p: NDArray[Any]) -> sparse.csr_matrix:
        """(rows, labels) that keep the rules, by marginals p of labels that vary."""
        if self.legality is None:
            return label_sets
        closed = self.legality.closed(label_sets)
        return self.legality.sets(label_sets, self.data.constants.expand_numbers(p)) if closed is None else closed

    def _stacked(self, X: Any, decide: Callable[[Any], sparse.csr_matrix]) -> sparse.csr_matrix:
        """Of a block of rows at a time: their marginals take the memory."""
        return sparse.vstack([decide(X[block]) for block in self._blocks(X)], format="csr")

    def _blocks(self, X: Any) -> list[slice]:
        return row_blocks(X.shape[0], self.data.n_varying)
