"""The report on a tagger."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enstruct.data.tag_schemes import find_spans, spells_span
from enstruct.errors import ConfigError
from enstruct.estimators import EnergySequenceTagger
from enstruct.estimators.tag_rules import plain_words
from enstruct.metrics import Counts
from enstruct.metrics.intervals import Counted, Interval, intervals
from enstruct.plots.tags import tag_pairs
from enstruct.report.about import about_section
from enstruct.report.blocks import counted, figure, paragraph, plain, share, signed, table, whole
from enstruct.report.calibration import calibration_section
from enstruct.report.confusion import OUTSIDE, TYPES, Tags, confusion_section
from enstruct.report.cost import cost_section
from enstruct.report.heat import heat_table
from enstruct.report.labels import put_together
from enstruct.report.landscape import TITLE, error_counts
from enstruct.report.marked_sentences import marked
from enstruct.report.markup import Markup, cut, element, joined
from enstruct.report.page import Section
from enstruct.report.reliability import binned
from enstruct.report.scores import scores_section
from enstruct.report.subject import Subject
from enstruct.report.ties import sampled

log = logging.getLogger("enstruct")

WORST, SUSPECTS, COMPARED = 10, 20, 2000
"""Sentences and tags that are shown; sentences that energies and conditionals are asked of."""


def tags_page(subject: Subject, sentences: Sequence[Any], truth: Tags) -> Markup:
    """``sentences``: words or tuples of a word and further columns; ``truth``: a tag for each token."""
    tagger, seed = subject.model, subject.seed
    words = plain_words(sentences)
    log.info("probabilities")
    p = tagger.predict_proba(sentences)
    told = token_probabilities(tagger, p, truth)
    log.info("scores")
    sections = [
        about_section(_counts(subject, words, truth), [_types(truth)], tagger, subject.rule),
        scores_section(subject, "sentences", {"log-loss (nats a token)": token_loss(told, seed)}, drawn="span-f1"),
        _calibration(tagger, p, truth),
        confusion_section(truth, subject.predicted),
        _pairs(tagger),
    ]
    log.info("energies")
    sections.append(_energies(tagger, sentences, truth, subject.predicted, subject.rule, seed))
    log.info("sentences and tags")
    sections.append(_worst(words, truth, subject.predicted, told))
    sections.append(_suspects(tagger, sentences, words, truth, seed))
    log.info("cost")
    sections.append(cost_section(subject, lambda n: tagger.predict(sentences[:n]), len(sentences), "sentences"))
    n_tokens = sum(map(len, words))
    return put_together(subject, "sentences", sections, f"{counted(len(words), 'sentence')}, {counted(n_tokens, 'token')}")


def _counts(subject: Subject, words: Sequence[Sequence[str]], truth: Tags) -> dict[str, Any]:
    lengths = [len(row) for row in words]
    flat = [word for row in words for word in row]
    return {
        "data": subject.source,
        "sentences": whole(len(words)),
        "tokens": whole(sum(lengths)),
        "tokens a sentence": f"{np.mean(lengths):.1f}, {whole(max(lengths, default=0))} at most",
        "different words": whole(len(set(flat))),
        "tags": whole(len({tag for row in truth for tag in row})),
        "spans": whole(sum(len(find_spans(row)) for row in truth)) if spelt_out(truth) else None,
        "tags of the model": whole(len(subject.model.classes_)),
    }


def spelt_out(truth: Tags) -> bool:
    """Whether tags spell out spans."""
    others = {tag for row in truth for tag in row} - {OUTSIDE}
    return bool(others) and all(map(spells_span, others))


def _types(truth: Tags) -> Markup:
    if not spelt_out(truth):
        found = Counter(tag for row in truth for tag in row)
        total = sum(found.values())
        rows = [[cut(tag, 40), whole(n), share(n / total) + "%"] for tag, n in found.most_common(TYPES)]
        return table("The most frequent tags.", ["tag", "tokens", "share"], rows)
    spans = [span for row in truth for span in find_spans(row)]
    found, lengths = Counter(span.type for span in spans), Counter[str]()
    for span in spans:
        lengths[span.type] += span.end - span.start
    rows = [[cut(kind, 40), whole(n), f"{lengths[kind] / n:.2f}"] for kind, n in found.most_common(TYPES)]
    return table("Spans by type.", ["type", "spans", "tokens a span"], rows)


def token_probabilities(tagger: EnergySequenceTagger, p: Sequence[NDArray[np.float64]], truth: Tags) -> list[NDArray[np.float64]]:
    """For each sentence (tokens,) the probability of the true tag; NaN of a tag that the model does not have."""
    encoded = _encoded(tagger, truth)
    return [
        np.where(tags >= 0, row[np.arange(len(tags)), np.maximum(tags, 0)], np.nan) for row, tags in zip(p, encoded, strict=True)
    ]


def _encoded(tagger: EnergySequenceTagger, truth: Tags) -> list[NDArray[np.int64]]:
    """(tokens,) numbers of the trained tags, -1 of those that training has not seen."""
    seen = tagger.tags_.user_tags
    tags = tagger.tags_.encode([[tag if tag in seen else None for tag in row] for row in truth])
    return list(tags.split())


def token_loss(told: Sequence[NDArray[np.float64]], seed: int) -> Interval:
    """-log p of the true tag, a token, with its interval by drawing sentences."""
    nats = [float(-np.log(np.clip(row[~np.isnan(row)], 1e-6, 1)).sum()) for row in told]
    n = [int((~np.isnan(row)).sum()) for row in told]
    return intervals({"": Counted(Counts.of(nats, np.array(n, dtype=np.float64)), empty=float("nan"))}, seed)[""]


def _calibration(tagger: EnergySequenceTagger, p: Sequence[NDArray[np.float64]], truth: Tags) -> Section:
    encoded = [(row, tags) for row, tags in zip(p, _encoded(tagger, truth), strict=True) if len(tags)]
    if not encoded:
        return Section("calibration", "Calibration", [paragraph("There is no token to look at.")])
    top = np.concatenate([row.max(1) for row, _ in encoded])
    right = np.concatenate([row.argmax(1) == tags for row, tags in encoded])
    said = "The probability of each token's likeliest tag, held against how often it is the true one."
    return calibration_section(binned(top.astype(np.float64), right), "tokens", said)


def _pairs(tagger: EnergySequenceTagger) -> Section:
    title = "Which tags follow one another"
    try:
        attraction = tag_pairs(tagger)
    except ConfigError:
        said = "This model's energy has no term of neighbouring tags, so that there are no ties between tags to show."
        return Section("ties", title, [paragraph(said)])
    names = [str(tag) for tag in tagger.classes_]
    few = names[: 2 * TYPES]
    attraction = attraction[: len(few), : len(few)]
    said_of = [[f"{a}, then {b}: {signed(float(attraction[i, j]))}" for j, b in enumerate(few)] for i, a in enumerate(few)]
    blocks = [
        paragraph("How much the energy attracts the second tag to the first: full squares attract, hollow ones repel."),
        figure(heat_table("ties-table", "Attraction of pairs of tags", few, few, attraction, said_of, ("tag", "next tag"))),
    ]
    return Section("ties", title, blocks)


def _energies(
    tagger: EnergySequenceTagger, sentences: Sequence[Any], truth: Tags, predicted: Tags, rule: str, seed: int
) -> Section:
    if tagger.energy_ is None:
        return Section("energy", TITLE, [paragraph("This model has no energy of its own, so that there is none to compare.")])
    seen = tagger.tags_.user_tags
    usable = [i for i, row in enumerate(truth) if row and set(row) <= seen]
    rows = [usable[k] for k in sampled(len(usable), COMPARED, seed)]
    if not rows:
        return Section(
            "energy", TITLE, [paragraph("No sentence has tags that training has seen, so that there is nothing to compare.")]
        )
    inputs = [sentences[i] for i in rows]
    true, guess = (tagger.energy(inputs, [side[i] for i in rows]) for side in (truth, predicted))
    wrong = np.array([list(truth[i]) != list(predicted[i]) for i in rows])
    said = f"Predictions are those of the rule {rule}. The energies are those of the learned energy alone."
    return Section("energy", TITLE, [error_counts("sentence", true, guess, wrong, len(usable)), paragraph(said)])


def _worst(words: Sequence[Sequence[str]], truth: Tags, predicted: Tags, told: Sequence[NDArray[np.float64]]) -> Section:
    wrong = np.array([sum(a != b for a, b in zip(t, g, strict=True)) for t, g in zip(truth, predicted, strict=True)])
    nats = np.array([float(-np.log(np.clip(np.nan_to_num(row, nan=1e-6), 1e-6, 1)).sum()) for row in told])
    order = [i for i in np.lexsort((-nats, -wrong / np.maximum(1, [len(row) for row in words]))) if wrong[i]][:WORST]
    cases = [
        element(
            "li",
            element("h3", f"Sentence {int(i)}"),
            element(
                "p",
                f"{counted(int(wrong[i]), 'wrong tag')} of {len(words[i])}, −log p of its tags {plain(nats[i], 1)} nats",
                class_="quiet small",
            ),
            element("p", element("span", "true ", class_="quiet small"), marked(words[i], truth[i]), class_="tokens"),
            element("p", element("span", "predicted ", class_="quiet small"), marked(words[i], predicted[i]), class_="tokens"),
        )
        for i in order
    ]
    title = "The sentences answered worst"
    if not cases:
        return Section("worst", title, [paragraph("Every sentence is tagged right.")])
    said = "Those with the largest share of wrong tags, and among them those whose tags the model held to be the least likely."
    return Section("worst", title, [paragraph(said), element("ol", *cases, class_="cases")], leaf=True)


def _suspects(
    tagger: EnergySequenceTagger, sentences: Sequence[Any], words: Sequence[Sequence[str]], truth: Tags, seed: int
) -> Section:
    seen = tagger.tags_.user_tags
    rows = sampled(len(sentences), COMPARED, seed)
    asked = [[tag if tag in seen else None for tag in truth[i]] for i in rows]
    quality = tagger.tag_quality([sentences[i] for i in rows], asked)
    cells = [(float(q), int(rows[k]), t) for k, row in enumerate(quality) for t, q in enumerate(row) if not np.isnan(q)]
    listed = []
    for q, i, t in sorted(cells)[:SUSPECTS]:
        left, right = (" ".join(words[i][part]) for part in (slice(max(0, t - 3), t), slice(t + 1, t + 4)))
        where = joined(cut(left, 40), " ", element("strong", cut(words[i][t], 40)), " ", cut(right, 40))
        listed.append([f"sentence {i}, token {t}", where, truth[i][t], f"{q:.4f}"])
    drawn = f" Of {len(sentences):,} sentences {len(rows):,} were drawn for this." if len(rows) < len(sentences) else ""
    said = (
        "The given tags that are least likely once the sentence and all tags outside of their own span are known: some are wrong "
        "in the data, others are errors of the model." + drawn
    )
    columns = ["where", "words", "given as", "p given the others"]
    listing = table(f"The {counted(len(listed), 'least likely given tag')}.", columns, listed, words=(0, 1, 2))
    return Section("suspects", "Tags that may be wrong", [paragraph(said), listing])
