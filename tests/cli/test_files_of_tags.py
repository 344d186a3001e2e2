"""Commands for tag sequences as a user types them."""

import json

import numpy as np
import pytest
from tests.generated import FAST_TAGGER as FAST
from tests.generated import write_sentences
from tests.generated_texts import tiny_encoder

from enstruct.cli.main import main
from enstruct.data.conll import read_conll, write_conll
from enstruct.data.tagged import told_at_random
from enstruct.estimators import EnergySequenceTagger
from enstruct.metrics.base import ratio
from enstruct.metrics.tags import accuracy_counts, span_counts
from enstruct.plots.tags import tag_pairs


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_sentences(tmp_path)


def test_train_predict_evaluate_picture(files, capsys):
    assert main(["train", "train.conll", "--out", "model", "--model.max_epochs", "6", *FAST]) == 0
    assert sorted(p.name for p in files.iterdir()) == ["model", "test.conll", "train.conll"]
    assert main(["predict", "model", "test.conll", "--out", "found.conll"]) == 0
    words, truth = read_conll("test.conll")
    tagger = EnergySequenceTagger.load("model")
    assert read_conll("found.conll") == (words, tagger.predict(words))
    (files / "bare.txt").write_text("\n\n".join("\n".join(row) for row in words) + "\n")
    assert main(["predict", "model", "bare.txt", "--unlabelled", "--spans", "--out", "found.jsonl"]) == 0
    spans = [json.loads(line)["spans"] for line in (files / "found.jsonl").read_text().splitlines()]
    assert spans == [[s._asdict() for s in row] for row in tagger.predict_spans(words)]
    before = (files / "test.conll").read_text()
    for out in (".", "test.conll", str(files / "test.conll")):
        assert main(["predict", "model", "test.conll", "--out", out]) == 2, out
    assert (files / "test.conll").read_text() == before
    assert main(["evaluate", "model", "test.conll", "--json", "figures.json"]) == 0
    figures = json.loads((files / "figures.json").read_text())
    assert figures["rules"][tagger.decision_]["span-f1"] == pytest.approx(tagger.score(words, truth))
    assert main(["evaluate", "model", "test.conll", "--sentence", "2", "--pictures", "pictures"]) == 0
    assert (files / "pictures" / "tag-pairs.png").stat().st_size > 1000
    assert (files / "pictures" / "sentence.png").stat().st_size > 1000
    assert np.array_equal(tag_pairs(tagger), -tagger.energy_.part("chain").transitions.detach().numpy())


def test_unseen_tags_and_unknown_models_are_said(files, capsys):
    (files / "plain.conll").write_text("".join(f"w{i}\t{'AB'[i % 2]}\n\n" for i in range(40)))
    (files / "more.conll").write_text("w1\tC\n\nw2\tA\n")
    assert main(["train", "plain.conll", "--out", "m", "--model.max_epochs", "1", *FAST]) == 0
    assert main(["evaluate", "m", "more.conll"]) == 0
    assert "has not seen, and no prediction can match: C" in capsys.readouterr().out
    assert main(["evaluate", "m", "more.conll", "--sentence", "9", "--pictures", "p"]) == 2
    assert "There are 2 sentences" in capsys.readouterr().err
    assert main(["train", "nothing.conll", "--out", "n"]) == 2
    assert "no tagged set of that name" in capsys.readouterr().err
    assert main(["train", "plain.conll", "--out", "n", "--reward", "citations"]) == 2
    assert "--unlabelled" in capsys.readouterr().err
    assert main(["predict", "m", "more.conll", "--decision", "map"]) == 2
    assert main(["predict", "m", "more.conll", "--out", "found.conllu"]) == 2
    assert "name it FILE.conll" in capsys.readouterr().err


def test_a_share_of_the_tags_told(files, capsys):
    assert main(["train", "train.conll", "--out", "model", "--model.max_epochs", "2", *FAST]) == 0
    assert main(["evaluate", "model", "test.conll", "--told", "0.5", "--seed", "3", "--json", "figures.json"]) == 0
    words, truth = read_conll("test.conll")
    figures, known = json.loads((files / "figures.json").read_text()), told_at_random(truth, 0.5, 3)
    assert figures["tags told"] == sum(tag is not None for row in known for tag in row)
    answer = EnergySequenceTagger.load("model").predict(words, known=known)
    assert figures["rules"] == {
        "map": {"accuracy": ratio(accuracy_counts(truth, answer, known)), "span-f1": ratio(span_counts(truth, answer, known))}
    }
    (files / "test.conll").write_text((files / "test.conll").read_text() + "\nx\tB-NEW\n")
    assert main(["evaluate", "model", "test.conll", "--told", "0.9"]) == 0  # a tag that training has not seen is not told
    assert main(["evaluate", "model", "test.conll", "--told", "1"]) == 2
    assert "--told is a share of the tokens" in capsys.readouterr().err


def test_an_encoder_of_words_and_where_it_lies_now(files, tmp_path, capsys):
    encoder = tiny_encoder(tmp_path / "tiny")
    train = ["train", "train.conll", "--out", "model", "--model.max_epochs", "1", *FAST]
    assert main([*train, "--encoder", str(encoder)]) == 0
    assert main(["predict", "model", "test.conll", "--out", "before.conll"]) == 0
    encoder.rename(tmp_path / "moved")
    assert main(["predict", "model", "test.conll", "--out", "after.conll"]) == 2
    assert main(["predict", "model", "test.conll", "--out", "after.conll", "--encoder", str(tmp_path / "moved")]) == 0
    assert (files / "before.conll").read_text() == (files / "after.conll").read_text()


def test_open_tags_are_no_tag(files, capsys):
    words, truth = read_conll("train.conll")
    partly = [[tag if t % 3 else "_" for t, tag in enumerate(row)] for row in truth]
    (files / "partly.conll").write_text(write_conll(words, partly))
    (files / "rules.txt").write_text("starts: O, B-PER, B-LOC, B-ORG\n")
    train = ["train", "partly.conll", "--out", "open", "--model.method", "crf", "--model.max_epochs", "1", *FAST]
    assert main(train) == 0
    left = sum(row.count("_") for row in partly)
    assert f"{left} tags open" in " ".join(capsys.readouterr().out.split())
    assert "_" not in EnergySequenceTagger.load("open").classes_
    assert main(["evaluate", "open", "partly.conll"]) == 2
    assert f"{left} tags of partly.conll are open" in capsys.readouterr().err


def test_rules_and_known_tags(files, capsys):
    train = ["train", "train.conll", "--out", "model", "--model.max_epochs", "1", *FAST, "--rules", "rules.txt"]
    (files / "rules.txt").write_text("starts: O\nalways PER: Lovelace\n")
    assert main(train) == 0
    assert "rule: sentences start with 'O' (broken in 0 of the 80 sentences that it is about)" in capsys.readouterr().out
    words, truth = read_conll("test.conll")
    known = [[tag if t % 2 else "_" for t, tag in enumerate(row)] for row in truth]
    (files / "known.conll").write_text(write_conll(words, known))
    assert main(["predict", "model", "test.conll", "--known", "known.conll", "--out", "found.conll"]) == 0
    told = [[None if tag == "_" else tag for tag in row] for row in known]
    found = read_conll("found.conll")[1]
    assert found == EnergySequenceTagger.load("model").predict(words, known=told)
    assert all(a in (None, b) for row, answer in zip(told, found, strict=True) for a, b in zip(row, answer, strict=True))
    assert main(["predict", "model", "known.conll", "--known", "same", "--spans", "--out", "found.jsonl"]) == 0
    assert len((files / "found.jsonl").read_text().splitlines()) == len(words)
    assert main(["evaluate", "model", "test.conll"]) == 0
    assert "map (in force)" in capsys.readouterr().out
    (files / "other.conll").write_text(write_conll([*words[:-1], ["x"] * len(words[-1])], known))
    for others, message in (
        (["--known", "train.conll"], "Sentence 0 of --known train.conll has other words"),
        (["--known", "other.conll"], f"Sentence {len(words) - 1} of --known other.conll has other words"),
        (["--known", "same", "--decision", "greedy"], "leave --decision out"),
        (["--known", "same", "--unlabelled"], "leave one out"),
    ):
        assert main(["predict", "model", "test.conll", *others]) == 2
        assert message in capsys.readouterr().err
    for line, message in (
        ("at most one: PERSON", "Unknown type 'PERSON'"),
        ("a b", "rules.txt, line 1"),
        ("starts: B-PER", "break the rule"),
    ):
        (files / "rules.txt").write_text(f"{line}\n")
        assert main([*train[:3], "other", *train[4:]]) == 2
        assert message in capsys.readouterr().err
