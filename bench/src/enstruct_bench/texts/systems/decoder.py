"""An LSTM that writes a label set one label after another, looking at the text: what Seq2Seq, SGM and OCD share.

c_t = sum_i a_ti h_i,   a_t = softmax_i v . tanh(W s_t + U h_i)          attention over the text
s_t = LSTM(s_{t-1}, [g(y_{t-1}); c_{t-1}])
o_t = W_o tanh(W_d s_t + V_d c_t)                                          logits of the labels and of END
SGM (Yang et al. 2018):
g   = (1 - H) e + H e',   H = sigmoid(W_1 e + W_2 e'),   e' = sum_k p_{t-1,k} e_k       what else the last step thought of
o_t + I_t,   I_t = -inf for labels that were written                                    no label twice
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from enstruct_bench.texts.systems.states import Reader, States


class Written(NamedTuple):
    """Where the writing stands: the cell's ``state`` and ``memory``, the ``context`` it saw last, the probabilities ``p`` of the
    last step, all (documents, ...), which labels were ``used`` (documents, labels + 1), and the ``last`` one written."""

    state: Tensor
    memory: Tensor
    context: Tensor
    p: Tensor
    used: Tensor
    last: Tensor

    def take(self, rows: Tensor) -> Written:
        return Written(*(part[rows] for part in self))


class Text(NamedTuple):
    """``memory`` (documents, tokens, width), ``keys`` U h, and which tokens are ``there``."""

    memory: Tensor
    keys: Tensor
    there: Tensor

    def take(self, rows: Tensor) -> Text:
        return Text(*(part[rows] for part in self))


class LabelWriter(nn.Module):
    """``once``: no label twice; ``doubts``: SGM's embedding of all that the last step thought of. Label number L is END, L + 1
    the beginning."""

    def __init__(self, width: int, n_labels: int, hidden: int = 64, once: bool = True, doubts: bool = False) -> None:
        super().__init__()
        self.n_labels, self.once = n_labels, once
        self.reader = Reader(width, 2 * hidden)
        of_text, size = self.reader.out_features, 2 * hidden
        self.embedding = nn.Embedding(n_labels + 2, size)
        self.cell = nn.LSTMCell(size + of_text, size)
        self.first = nn.Linear(of_text, size)
        self.query, self.key, self.score = nn.Linear(size, size), nn.Linear(of_text, size, bias=False), nn.Linear(size, 1)
        self.of_state, self.of_context = nn.Linear(size, size), nn.Linear(of_text, size, bias=False)
        self.out = nn.Linear(size, n_labels + 1)
        self.gates = nn.ModuleList([nn.Linear(size, size), nn.Linear(size, size, bias=False)]) if doubts else None

    def read(self, x: States) -> tuple[Text, Written]:
        memory = self.reader(x)
        text, n = Text(memory, self.key(memory), x.there), len(memory)
        mean = (memory * x.there.unsqueeze(-1)).sum(1) / x.there.sum(1, keepdim=True)
        state = torch.tanh(self.first(mean))
        p = torch.zeros(n, self.n_labels + 1)
        used = torch.zeros(n, self.n_labels + 1, dtype=torch.bool)
        begin = torch.full((n,), self.n_labels + 1)
        return text, Written(state, torch.zeros_like(state), self._look(text, state), p, used, begin)

    def step(self, text: Text, so_far: Written) -> tuple[Tensor, Written]:
        """(log-probabilities (documents, labels + 1) of what comes next, the state after which :meth:`wrote` says what did)."""
        inputs = torch.cat([self._embedded(so_far), so_far.context], dim=1)
        state, memory = self.cell(inputs, (so_far.state, so_far.memory))
        context = self._look(text, state)
        logits = self.out(torch.tanh(self.of_state(state) + self.of_context(context)))
        if self.once:
            logits = logits.masked_fill(so_far.used, -torch.inf)
        log_p = torch.log_softmax(logits, dim=1)
        return log_p, so_far._replace(state=state, memory=memory, context=context, p=log_p.exp())

    def wrote(self, so_far: Written, label: Tensor) -> Written:
        """After this label (documents,), or END, which may be written again."""
        ends = torch.arange(self.n_labels + 1) == self.n_labels
        used = so_far.used | (torch.nn.functional.one_hot(label, self.n_labels + 1).bool() & ~ends)
        return so_far._replace(used=used, last=label)

    def _embedded(self, so_far: Written) -> Tensor:
        e: Tensor = self.embedding(so_far.last)
        if self.gates is None:
            return e
        other = so_far.p @ self.embedding.weight[: self.n_labels + 1]
        share = torch.sigmoid(self.gates[0](e) + self.gates[1](other))
        return (1 - share) * e + share * other

    def _look(self, text: Text, state: Tensor) -> Tensor:
        scores = self.score(torch.tanh(self.query(state).unsqueeze(1) + text.keys)).squeeze(-1)
        weights = torch.softmax(scores.masked_fill(~text.there, -torch.inf), dim=1)
        return torch.einsum("nt,ntw->nw", weights, text.memory)


@torch.no_grad()
def beam(writer: LabelWriter, x: States, most: int, width: int = 5) -> Tensor:
    """(documents, labels) marginals: of the ``width`` likeliest ways to write at most so many labels, by their probabilities.

    A beam that ended stays as it is. Whoever does not end in time counts as it stands.
    """
    text, so_far = writer.read(x)
    n, end = len(so_far.last), writer.n_labels
    rows = torch.arange(n).repeat_interleave(width)
    text, so_far = text.take(rows), so_far.take(rows)
    score = torch.full((n, width), -torch.inf)
    score[:, 0] = 0.0  # at the beginning all are one
    over = torch.zeros(n, width, dtype=torch.bool)
    sets = torch.zeros(n, width, end)
    only_end = torch.full((end + 1,), -torch.inf)
    only_end[end] = 0.0
    for _ in range(most + 1):
        log_p, so_far = writer.step(text, so_far)
        log_p = torch.where(over.unsqueeze(-1), only_end, log_p.view(n, width, -1))
        best, place = (score.unsqueeze(-1) + log_p).flatten(1).topk(width, dim=1)
        parent, label = place // (end + 1), place % (end + 1)
        so_far = so_far.take((torch.arange(n).unsqueeze(1) * width + parent).flatten())
        so_far = writer.wrote(so_far, label.flatten())
        sets = sets.gather(1, parent.unsqueeze(-1).expand_as(sets)).clone()
        grown = torch.nn.functional.one_hot(label, end + 1)[..., :end].float()
        sets, over, score = torch.maximum(sets, grown), label == end, best
        if bool(over.all()):
            break
    return (torch.softmax(score, dim=1).unsqueeze(-1) * sets).sum(1)
