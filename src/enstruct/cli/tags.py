"""What ``enstruct tags`` does; its options are declared in :mod:`enstruct.cli.parsers.tags`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli import options as shared
from enstruct.cli.inputs import same_source
from enstruct.cli.outputs import check_figures, check_free, check_names
from enstruct.cli.tables import say
from enstruct.cli.training import resumable, say_what_is_idle
from enstruct.data.citations import read_references, write_citations
from enstruct.data.conll import is_universal, write_conll
from enstruct.data.tagged import TAGGED, Tagged, is_inline, load_tagged, load_tagged_parts, read_tagged
from enstruct.errors import ConfigError, ModelFileError, unknown_name
from enstruct.estimators import EnergySequenceTagger
from enstruct.files import write_json, write_text
from enstruct.methods import get_method
from enstruct.methods.tags import TAG_METHODS
from enstruct.metrics.base import ratio
from enstruct.metrics.tags import TAG_METRICS
from enstruct.plots.tags import probabilities_picture, transitions_picture
from enstruct.records import fits
from enstruct.weak_supervision.citations import CITATION_EXPECTATIONS, citation_reward


def run(options: Namespace) -> None:
    actions: dict[str, Any] = {
        "train": _train,
        "predict": _predict,
        "evaluate": _evaluate,
        "picture": _picture,
    }
    actions[options.action](options[options.action])


def _train(options: Namespace) -> None:
    train, validation = _training_data(options)
    held = () if validation is None else (validation.sentences, validation.truth())
    inline = options.data == "cora" or is_inline(options.data)
    with resumable(options.out, options.resume, EnergySequenceTagger) as callbacks:
        tagger = EnergySequenceTagger(**shared.model_parameters(options), random_state=options.seed, callbacks=callbacks)
        say_what_is_idle(tagger)
        tagger.fit(train.sentences, train.truth(), *held, **_light_data(options))
        tagger.save(options.out, {"source": options.data, "columns": options.columns, "inline": inline})
    scores = ", ".join(f"{name} {100 * score:.2f}" for name, score in tagger.decision_scores_.items())
    watched = f"validation {tagger.metric_} {scores}; " if scores else ""
    say(
        f"{len(train)} sentences, {train.n_tokens} tokens, {len(tagger.classes_)} tags; {tagger.n_iter_} epochs; decision "
        f"{tagger.decision_}; {watched}saved to {options.out}",
    )


def _training_data(options: Namespace) -> tuple[Tagged, Tagged | None]:
    if options.validation is not None:
        part = "full" if options.data in TAGGED and "train" not in TAGGED[options.data].parts else "train"
        return load_tagged(options.data, part, options.columns), read_tagged(options.validation, options.columns)
    if options.data in TAGGED and "validation" in TAGGED[options.data].parts:
        parts = load_tagged_parts(options.data, columns=options.columns)
        return parts.train, parts.validation
    return load_tagged(options.data, "full", options.columns), None


def _light_data(options: Namespace) -> dict[str, Any]:
    if options.reward not in (None, "citations"):
        raise unknown_name("reward", options.reward, ["citations"])
    if options.unlabelled is None:
        if options.reward is not None:
            raise ConfigError("--reward judges sentences without tags: give --unlabelled FILE.")
        return {}
    references = is_inline(options.unlabelled) or is_inline(options.data) or options.data == "cora"
    sentences: list[Any] = read_references(options.unlabelled) if references else _words(options)
    known: dict[str, Any] = {"unlabelled": sentences}
    if options.reward is not None:
        expects = get_method(options.model.method, TAG_METHODS).predictor_loss.expectation_weight > 0
        known |= {"expectations": CITATION_EXPECTATIONS} if expects else {"reward": citation_reward()}
    return known


def _words(options: Namespace) -> list[Any]:
    return read_tagged(options.unlabelled, options.columns, labelled=False).sentences


def load_tagger(path: Path) -> EnergySequenceTagger:
    tagger = EnergySequenceTagger.load(path)
    if not fits(tagger.notes_, {"columns": [int], "inline": bool}):
        raise ModelFileError(
            f"{path} was not written by `enstruct tags train`; use it from Python, or train it with the command."
        )
    return tagger


def _data(tagger: EnergySequenceTagger, options: Namespace, labelled: bool = True) -> Tagged:
    columns = tagger.notes_["columns"]
    if options.data in TAGGED:
        return load_tagged(options.data, _part(options), columns)
    return read_tagged(options.data, columns, labelled, inline=True if tagger.notes_["inline"] else None)


def _part(options: Namespace) -> str:
    """Of a named set the one asked for, or the test part where it has one; a file is whole."""
    if options.data not in TAGGED:
        return "full"
    return options.part or ("test" if "test" in TAGGED[options.data].parts else "full")


def _predict(options: Namespace) -> None:
    if options.out is not None:
        if options.out.resolve() == Path(options.data).resolve():
            raise ConfigError(f"--out {options.out} is the file to be tagged: name another.")
        if is_universal(options.out):
            raise ConfigError(
                f"--out {options.out}: what is written has a column of words and one of tags, so name it FILE.conll."
            )
        check_free([options.out], options.overwrite)
    tagger = load_tagger(options.model)
    data = _data(tagger, options, not options.unlabelled)
    if options.spans:
        found = tagger.predict_spans(data.sentences, decision=options.decision)
        pairs = zip(data.sentences, found, strict=True)
        lines = (json.dumps({"tokens": s, "spans": [f._asdict() for f in spans]}, ensure_ascii=False) for s, spans in pairs)
        text = "\n".join(lines) + "\n"
    else:
        apart = " <>" if tagger.notes_["inline"] else "\t"
        check_names("tag", map(str, tagger.classes_), options.out, apart, "Spans in JSON hold any: --spans.")
        write = write_citations if tagger.notes_["inline"] else write_conll
        text = write(data.sentences, tagger.predict(data.sentences, decision=options.decision))
    if options.out is None:
        sys.stdout.write(text)
    else:
        write_text(options.out, text)


def _evaluate(options: Namespace) -> None:
    if options.json is not None:
        check_figures(options.json, options.overwrite, {"sentences": int, "tokens": int, "rules": dict})
    tagger = load_tagger(options.model)
    data = _data(tagger, options)
    truth = tagger.tags_.as_given(data.truth())
    metrics = [name for name in TAG_METRICS if name == "accuracy" or tagger.tags_.given is not None]
    table, figures = Table("rule", *metrics), {}
    for rule in tagger.rules_:
        predicted = tagger.predict(data.sentences, decision=rule)
        figures[rule] = {name: ratio(TAG_METRICS[name](truth, predicted)) for name in metrics}
        in_force = " (in force)" if rule == tagger.decision_ else ""
        table.add_row(rule + in_force, *(f"{100 * score:.2f}" for score in figures[rule].values()))
    console = Console()
    console.print(table)
    unseen = {tag for row in truth for tag in row} - tagger.tags_.user_tags
    if unseen:
        say(f"Tags that training has not seen, and no prediction can match: {', '.join(sorted(unseen))}")
    say(f"{len(data)} sentences, {data.n_tokens} tokens")
    if same_source(tagger.notes_, options.data) and _part(options) != "test":
        say("these are the sentences it was trained on, or stopped by: this is no test")
    if options.json is not None:
        write_json(options.json, {"sentences": len(data), "tokens": data.n_tokens, "rules": figures})


def _picture(options: Namespace) -> None:
    pairs, sentence = options.out / "tag-pairs.png", options.out / "sentence.png"
    check_free([pairs, sentence], options.overwrite)
    tagger = load_tagger(options.model)
    data = _data(tagger, options)
    transitions_picture(tagger, pairs)
    probabilities_picture(tagger, data, options.sentence, sentence)
    say(f"pictures in {options.out}: tag-pairs.png, sentence.png")
