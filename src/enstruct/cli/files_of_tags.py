"""Tag sequences, as the commands read and write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from jsonargparse import Namespace

from enstruct.cli.inputs import SAME
from enstruct.cli.options import encoder_of
from enstruct.cli.outputs import check_names
from enstruct.cli.tables import say
from enstruct.cli.task_files import Draw, TaskFiles, Training
from enstruct.data.citations import read_references, write_citations
from enstruct.data.conll import is_universal, write_conll
from enstruct.data.tagged import TAGGED, Tagged, is_inline, load_tagged, read_tagged, told_at_random
from enstruct.energies.chain import ChainEnergy
from enstruct.errors import ConfigError, DataError, ModelFileError, shown, unknown_name
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.tag_rules import counts, plain_words
from enstruct.metrics import Metric
from enstruct.plots.tags import probabilities_picture, transitions_picture
from enstruct.records import fits
from enstruct.report.subject import Subject
from enstruct.report.tags import tags_page
from enstruct.rules.tag_text import read_tag_rules
from enstruct.tasks import TAGS
from enstruct.weak_supervision.citations import CITATION_EXPECTATIONS, citation_reward

OPEN = "_"
"""In a column of tags, to learn from or known: nothing is known of this one."""


class TagFiles(TaskFiles):
    """Data are :class:`Tagged`."""

    task, outputs = TAGS, "tags"
    pictures = ("tag-pairs.png", "sentence.png")

    def training(self, options: Namespace) -> Training:
        train, validation = _training_parts(options)
        validating = {} if validation is None else {"X_val": validation.sentences, "y_val": _opened(validation)}
        notes = {"source": options.data, "columns": options.columns, "inline": _holds_references(options.data)}
        fit = {"X": train.sentences, "y": _opened(train), **validating, **_weak_data(options)}
        rules = {} if options.rules is None else {"rules": _counted_rules(options, train)}
        left = sum(tag is None for row in fit["y"] for tag in row)
        counted = self.counts(train) | ({"tags open": left} if left else {})
        return Training(fit, counted, notes, {**rules, **encoder_of(options)})

    def load(self, options: Namespace) -> Any:
        tagger, folder = super().load(options), options.model
        if not fits(tagger.notes_, {"columns": [int], "inline": bool}):
            raise ModelFileError(
                f"{folder} was not written by `enstruct train`; use it from Python, or train it with the command."
            )
        return tagger

    def read(self, model: Any, options: Namespace, labelled: bool = True) -> Tagged:
        """To be scored: with a share of the tags told."""
        data, share = self._read(model, options, labelled), getattr(options, "told", 0.0)
        if not 0 <= share < 1:
            raise ConfigError(f"--told is a share of the tokens, from 0 to below 1, not {share}.")
        if share == 0:
            return data
        known, seen = told_at_random(data.truth(), share, options.seed), model.tags_.user_tags
        return replace(data, known=[[tag if tag in seen else None for tag in row] for row in known])

    def _read(self, model: Any, options: Namespace, labelled: bool) -> Tagged:
        columns = model.notes_["columns"]
        if options.data in TAGGED:
            return load_tagged(options.data, _part(options), columns)
        return read_tagged(options.data, columns, labelled, inline=True if model.notes_["inline"] else None)

    def read_unanswered(self, model: Any, options: Namespace) -> Tagged:
        """To be answered: of what is known, its tags alone, None where nothing is."""
        if options.known is None:
            return super().read_unanswered(model, options)
        if model.notes_["inline"]:
            raise ConfigError("--known is for columns of words and tags: in references tagged inline no token can be left open.")
        if options.decision not in (None, "map"):
            raise ConfigError("With --known the answer is the most probable sequence: leave --decision out.")
        if options.known == SAME and options.unlabelled:
            raise ConfigError("--known same takes the tags of DATA, and --unlabelled says that it has none: leave one out.")
        data = self.read(model, options, labelled=not options.unlabelled)
        told = data if options.known == SAME else read_tagged(options.known)
        return replace(data, tags=None, known=_known(data, told))

    def counts(self, data: Tagged) -> dict[str, int]:
        told = {} if data.known is None else {"tags told": sum(tag is not None for row in data.known for tag in row)}
        return {"sentences": len(data), "tokens": data.n_tokens, **told}

    def was_trained_on(self, model: Any, options: Namespace) -> bool:
        return super().was_trained_on(model, options) and _part(options) != "test"

    def check_out(self, options: Namespace) -> None:
        super().check_out(options)
        if options.out is not None and is_universal(options.out):
            raise ConfigError(
                f"--out {options.out}: what is written has a column of words and one of tags, so name it FILE.conll."
            )

    def lines(self, model: Any, data: Tagged, options: Namespace) -> Iterator[str]:
        if options.spans:
            found = model.predict_spans(data.sentences, decision=options.decision, known=data.known)
            for sentence, spans in zip(data.sentences, found, strict=True):
                record = {"tokens": sentence, "spans": [span._asdict() for span in spans]}
                yield json.dumps(record, ensure_ascii=False) + "\n"
            return
        inline = model.notes_["inline"]
        apart = " <>" if inline else "\t"
        check_names("tag", map(str, model.classes_), options.out, apart, "Spans in JSON hold any: --spans.")
        write = write_citations if inline else write_conll
        yield write(data.sentences, model.predict(data.sentences, decision=options.decision, known=data.known))

    def truth(self, model: Any, data: Tagged) -> Any:
        truth = data.truth()
        if left := sum(tag == OPEN for row in truth for tag in row):
            raise DataError(f"{left} tags of {data.name} are open ({OPEN}): score sentences whose tags are all known.")
        return model.tags_.as_given(truth)

    def by_rule(self, model: Any, data: Tagged) -> Iterator[tuple[str, Any]]:
        if data.known is not None:
            yield "map", model.predict(data.sentences, known=data.known)
            return
        for rule in model.rules_:
            yield rule, model.predict(data.sentences, decision=rule)

    def metrics(self, model: Any, data: Tagged) -> Mapping[str, Metric]:
        """Of tags that were not told, and spans that have one."""
        spans = model.tags_.user_scheme is not None
        named = {name: metric for name, metric in self.task.metrics.items() if spans or name == "accuracy"}
        if data.known is None:
            return named
        return {name: replace(metric, counts=partial(metric.counts, known=data.known)) for name, metric in named.items()}

    def remark(self, model: Any, truth: Any) -> str:
        unseen = {tag for row in truth for tag in row} - model.tags_.user_tags
        return f"Tags that training has not seen, and no prediction can match: {', '.join(sorted(unseen))}" if unseen else ""

    def report(self, subject: Subject, data: Tagged, truth: Any, whole: Tagged) -> str:
        return tags_page(subject, data.sentences, truth)

    def draw(self, model: Any, data: Tagged, options: Namespace) -> dict[str, Draw]:
        if not 0 <= options.sentence < len(data):
            raise ConfigError(f"There are {len(data)} sentences, numbered from 0; {options.sentence} is none of them.")
        pairs, sentence = self.pictures
        terms = getattr(model.energy_, "terms", ())
        chain = any(isinstance(term, ChainEnergy) and term.distance == 1 for term in terms)
        drawn: dict[str, Draw] = {pairs: partial(transitions_picture, model)} if chain else {}
        return {**drawn, sentence: partial(probabilities_picture, model, data, options.sentence)}


def _training_parts(options: Namespace) -> tuple[Tagged, Tagged | None]:
    """(train, validation): the latter from a file, as published, or None where a part is to be held out."""
    if options.validation is not None:
        part = "full" if options.data in TAGGED and "train" not in TAGGED[options.data] else "train"
        return load_tagged(options.data, part, options.columns), read_tagged(options.validation, options.columns)
    if options.data in TAGGED and "validation" in TAGGED[options.data]:
        return load_tagged(options.data, "train", options.columns), load_tagged(options.data, "validation", options.columns)
    return load_tagged(options.data, "full", options.columns), None


def _counted_rules(options: Namespace, train: Tagged) -> list[Any]:
    """Of a file, each printed with how many training sentences break it."""
    rules = read_tag_rules(options.rules)
    given = _opened(train)
    tags = TagFormat.fit(given, options.model.scheme, options.model.classes)
    for words, broken, about in counts(rules, tags, train.sentences, given):
        say(f"rule: {words} (broken in {broken} of the {about} sentences that it is about)")
    return rules


def _known(data: Tagged, told: Tagged) -> list[list[str | None]]:
    """The told tags, _ being none. DataError for those of other words."""
    if len(data) != len(told):
        raise DataError(f"--known {told.name} has {len(told)} sentences, and {data.name} {len(data)}: give the same ones.")
    for i, pair in enumerate(zip(plain_words(data.sentences), plain_words(told.sentences), strict=True)):
        if pair[0] != pair[1]:
            raise DataError(
                f"Sentence {i} of --known {told.name} has other words than that of {data.name}: {shown(' '.join(pair[1]), 60)} "
                f"for {shown(' '.join(pair[0]), 60)}."
            )
    return _opened(told)


def _opened(data: Tagged) -> list[list[str | None]]:
    """Its tags, None where they are open."""
    return [[None if tag == OPEN else tag for tag in row] for row in data.truth()]


def _holds_references(source: str) -> bool:
    return source == "cora" or is_inline(source)


def _weak_data(options: Namespace) -> dict[str, Any]:
    """Sentences without tags, and what judges them, as ``fit`` takes them."""
    if options.reward not in (None, "citations"):
        raise unknown_name("reward", options.reward, ["citations"])
    if options.unlabelled is None:
        if options.reward is not None:
            raise ConfigError("--reward judges sentences without tags: give --unlabelled FILE.")
        return {}
    if _holds_references(options.unlabelled) or _holds_references(options.data):
        sentences: Any = read_references(options.unlabelled)
    else:
        sentences = read_tagged(options.unlabelled, options.columns, labelled=False).sentences
    if options.reward is None:
        return {"unlabelled": sentences}
    expects = TAGS.method(options.model.method).predictor_loss.expectation_weight > 0
    judge: dict[str, Any] = {"expectations": CITATION_EXPECTATIONS} if expects else {"reward": citation_reward()}
    return {"unlabelled": sentences, **judge}


def _part(options: Namespace) -> str:
    """Of a named set the one asked for, or the test part where it has one; a file is whole."""
    if options.data not in TAGGED:
        return "full"
    return options.part or ("test" if "test" in TAGGED[options.data] else "full")


FILES = TagFiles()
