"""Tags of tokens: numbers of words, case, digits, further columns and characters in, probabilities and tags out.

How words become numbers stands in vocabulary.json beside the file (:func:`vocabulary`). Legal and exact answers are found by
Viterbi's algorithm, in a loop of the graph; marginals of a chain by its forward and backward sums.
"""

from __future__ import annotations

import copy
import json
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from msgspec import to_builtins
from numpy.typing import NDArray
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

from enstruct.data.sentences import split
from enstruct.data.tag_schemes import AS_BIOES, legal_transitions, spells_span
from enstruct.decisions.tag_sequences import EPS
from enstruct.encoders.text import TextEncoder
from enstruct.encoders.tokens import TokenBatch
from enstruct.errors import ConfigError
from enstruct.estimators import EnergySequenceTagger
from enstruct.estimators.token_format import CASES, LONGEST_WORD, PREFIXES
from enstruct.export.graph import Arrays, Graph
from enstruct.export.labels import check_answers_itself
from enstruct.export.recurrent import with_graph_lstms
from enstruct.inference import Chain
from enstruct.inference.chain import IMPOSSIBLE, chain_potentials
from enstruct.training.batches import to_inputs

LONGEST = 9
"""Tokens of a sentence that is drawn."""


class Links(NamedTuple):
    """Costs (tags, tags) of one tag after another, and (tags,) of beginning and ending with one."""

    transitions: Tensor
    start: Tensor
    end: Tensor


class TagGraph(nn.Module):
    """(columns, there, spellings) -> probabilities (sentences, tokens, tags), tags (sentences, tokens), -1 beyond the end."""

    def __init__(self, model: EnergySequenceTagger, decision: str) -> None:
        super().__init__()
        method = model._method()
        self.exact, self.decision = isinstance(method.inference, Chain), decision
        if not self.exact:
            check_answers_itself(method)
        elif beside := [term.name for term in cast(Any, model.energy_).terms if term.name not in ("local", "chain")]:
            raise ConfigError(
                f"This energy has {', '.join(beside)} beside its chain and answers by sampling, which is no fixed graph. Export "
                "a tagger that learns from it, method='crf-taught' with the same energy_network=, or a chain alone."
            )
        self.network = with_graph_lstms(
            copy.deepcopy(cast(nn.Module, model.energy_ if self.exact else model.predictor_)).cpu().eval()
        )
        allowed = legal_transitions(model.tags_.tags, model.tags_.scheme)
        for name, table in zip(("forbidden", "forbidden_start", "forbidden_end"), allowed, strict=True):
            self.register_buffer(name, torch.from_numpy(~table).double() * IMPOSSIBLE)

    def forward(self, columns: Tensor, there: Tensor, spellings: Tensor) -> tuple[Tensor, Tensor]:
        x = TokenBatch(columns, there, spellings)
        if self.exact:
            energy = cast(Any, self.network)
            potentials = chain_potentials(energy, energy.prepare(x, None))
            unary = potentials.unary
            links = Links(potentials.transitions, potentials.start, potentials.end)
            p = chain_marginals(unary, there, links)
            if self.decision == "map":
                return p.float(), viterbi(unary, there, links)
        else:
            p = torch.softmax(self.network(x), -1)
        if self.decision == "greedy":
            return p.float(), torch.where(there, p.argmax(-1), -1)
        forbidden = Links(*(cast(Tensor, getattr(self, name)) for name in ("forbidden", "forbidden_start", "forbidden_end")))
        return p.float(), viterbi(-p.double().clamp(min=EPS).log(), there, forbidden)


def viterbi(unary: Tensor, there: Tensor, links: Links) -> Tensor:
    """(sentences, tokens) tags of the least sum of costs (sentences, tokens, tags); -1 where there is no token."""
    u, here, first = _by_time(unary, there)
    transitions, start, stay = links.transitions, links.start, torch.arange(unary.shape[2])

    def forwards(best: Tensor, at: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        cost, exists, begins = at
        value, pointer = (best.unsqueeze(2) + transitions).min(1)
        moved = torch.where(exists, value + cost, best)
        return torch.where(begins, start + cost, moved), torch.where(exists, pointer, stay)  # beyond the end: stay

    def backwards(tag: Tensor, pointer: Tensor) -> tuple[Tensor, Tensor]:
        return pointer.gather(1, tag.unsqueeze(1)).squeeze(1), tag.clone()

    best, pointers = scan(forwards, torch.zeros_like(u[0]), (u, here, first))
    _, tags = scan(backwards, (best + links.end).argmin(1), pointers, reverse=True)
    return torch.where(there, tags.transpose(0, 1), -1)


def chain_marginals(unary: Tensor, there: Tensor, links: Links) -> Tensor:
    """(sentences, tokens, tags) of exp(-E)/Z; zero where there is no token."""
    u, here, first = _by_time(unary, there)
    transitions, start = links.transitions, links.start

    def forwards(alpha: Tensor, at: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        cost, exists, begins = at
        moved = torch.where(exists, torch.logsumexp(alpha.unsqueeze(2) - transitions, dim=1) - cost, alpha)
        alpha = torch.where(begins, -cost - start, moved)
        return alpha, alpha.clone()

    def backwards(beta: Tensor, at: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        cost, exists = at
        before = torch.logsumexp((beta - cost).unsqueeze(1) - transitions, dim=2)
        return torch.where(exists, before, beta), beta.clone()

    last, alphas = scan(forwards, torch.zeros_like(u[0]), (u, here, first))
    _, betas = scan(backwards, torch.zeros_like(u[0]) - links.end, (u, here), reverse=True)
    total = torch.logsumexp(last - links.end, dim=1)
    p = (alphas + betas - total.view(1, -1, 1)).exp()
    return (p * here).transpose(0, 1)


def _by_time(unary: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Costs (tokens, sentences, tags), which exist (tokens, sentences, 1), which are the first (tokens, 1, 1)."""
    here = there.transpose(0, 1).unsqueeze(2)
    return unary.transpose(0, 1), here, (torch.arange(here.shape[0]) == 0).view(-1, 1, 1)


def tag_graph(model: EnergySequenceTagger, rule: str) -> Graph:
    """Of a fitted tagger, by a decision that applies. ConfigError for what is no fixed graph."""
    if isinstance(model.encoder, TextEncoder):
        raise ConfigError(
            "This tagger reads words through a pretrained encoder, whose pieces a graph does not make: export a tagger of words, "
            "or let enstruct answer."
        )
    if model._ruled:
        raise ConfigError(
            "Under rules= the answer is found sentence by sentence, which is no fixed graph: export a tagger without rules; its "
            "answers are legal in its scheme by decision='legal'."
        )
    if rule not in model.rules_:
        raise ConfigError(f"decision={rule!r} does not apply to this tagger; its rules are {', '.join(model.rules_)}.")
    drawn: dict[str, list[list[Any]]] = {}

    def draw(rows: int, random: np.random.Generator) -> Arrays:
        lengths = random.integers(1, LONGEST + 1, rows)
        lengths[1:2] = LONGEST
        lengths[:1] = 1
        drawn["sentences"] = [[_word(model, random) for _ in range(length)] for length in lengths]
        x = to_inputs(model.tokens_.encode(drawn["sentences"])).x
        return {"columns": x.columns.numpy(), "there": x.there.numpy(), "spellings": x.spellings.numpy()}

    def answer(inputs: Arrays) -> Arrays:
        sentences, answers = drawn["sentences"], model._answers()
        X = model._inference_inputs(sentences)
        p, tags = answers.probabilities(X), answers.decided(X, rule).tags
        return {
            "probabilities": _padded(split(p, X.offsets), inputs["there"], 0),
            "tags": _padded(split(tags, X.offsets), inputs["there"], -1),
        }

    return Graph(
        "model",
        Masked(TagGraph(model, rule)).eval(),
        {
            "columns": {0: "sentences", 1: "tokens"},
            "there": {0: "sentences", 1: "tokens"},
            "spellings": {0: "spellings", 1: "characters"},
        },
        ("probabilities", "tags"),
        draw,
        answer,
        {"tags": json.dumps(list(model.tags_.tags)), "decision": rule},
    )


class Masked(nn.Module):
    """Probabilities are 0 where there is no token."""

    def __init__(self, tagger: TagGraph) -> None:
        super().__init__()
        self.tagger = tagger

    def forward(self, columns: Tensor, there: Tensor, spellings: Tensor) -> tuple[Tensor, Tensor]:
        p, tags = self.tagger(columns, there, spellings)
        return p * there.unsqueeze(2), tags


def _word(model: EnergySequenceTagger, random: np.random.Generator) -> Any:
    """Of training, or one that it never met; with values of its further columns."""
    words = list(model.tokens_.words) or ["a"]
    word = str(random.choice(words)) if random.random() < 0.8 else "Unmet" + str(random.integers(10))
    word = word.title() if random.random() < 0.3 else word
    if model.tokens_.width == 1:
        return word
    sides = model.tokens_.columns[: model.tokens_.width - 1]
    return (word, *(str(random.choice(list(values) or ["-"])) for values in sides))


def _padded(parts: list[NDArray[Any]], there: NDArray[np.bool_], filled: int) -> NDArray[Any]:
    out = np.full((*there.shape, *parts[0].shape[1:]), filled, dtype=parts[0].dtype)
    for row, part in zip(out, parts, strict=True):
        row[: len(part)] = part
    return out


def vocabulary(model: EnergySequenceTagger, decision: str) -> dict[str, Any]:
    """How the graph's inputs are made of words, and its tags read.

    "columns" of a token are, in this order: "vectors"[word], else of it in lower case, else 0; "words"[word in lower case], else
    0; the place of its case in "cases"; 1 without digits, 2 with some, 3 of digits alone; for each of the token's further columns
    "columns"[i][value], else 0; where there are "clusters", likewise of the prefixes of its bits, of the lengths "prefixes"; the
    row of its spelling in the input "spellings", from 1 on: row 0 is empty. A spelling is "characters"[character] one after
    another, len("characters") + 1 for those not there, at most "longest" of them, then zeros.

    "tags" are the trained ones, by number; "written" what each is in the scheme of training, null where its neighbours say: in
    IOB1, and wherever the decision may break the scheme, as any but "legal" may, which the tagger itself mends.
    """
    record = to_builtins(model.tokens_.record())
    words, numbers = record["vectors"]
    return {
        "vectors": dict(zip(words, numbers, strict=True)),
        "words": _numbered(record["words"]),
        "cases": list(CASES),
        "columns": [_numbered(values) for values in record["columns"]],
        "clusters": record["clusters"],
        "prefixes": list(PREFIXES) if record["clusters"] else [],
        "characters": _numbered(record["characters"]),
        "longest": LONGEST_WORD,
        "width": record["width"],
        "tags": list(model.tags_.tags),
        "scheme": model.tags_.user_scheme,
        "written": _written(list(model.tags_.tags), model.tags_.user_scheme, decision),
    }


def _numbered(values: list[str]) -> dict[str, int]:
    return {value: number for number, value in enumerate(values, 1)}


def _written(tags: list[str], scheme: str | None, decision: str) -> list[str] | None:
    """Each of the trained tags in the user's scheme."""
    if scheme is None:
        return tags
    if scheme == "IOB1" or decision != "legal":  # whether a span of IOB1 begins with B depends on the one before
        return None
    if scheme == "BIOES":
        return tags
    first = {"IOB2": {"E": "I", "S": "B"}, "BILOU": {after: before for before, after in AS_BIOES.items()}}[scheme]
    return [first.get(tag[0], tag[0]) + tag[1:] if spells_span(tag) else tag for tag in tags]
