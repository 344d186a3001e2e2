"""The tagger as its users meet it: every method, spans, holes, saving, bad input."""

import logging

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.configured import configured
from tests.generated import make_sentences

from enstruct import EnergySequenceTagger, EnergySpec
from enstruct.data.embeddings import WordVectors
from enstruct.data.tag_schemes import convert, find_spans
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators.tag_format import spans_around_holes
from enstruct.hypergradients import Implicit, Neumann
from enstruct.inference import Chain
from enstruct.methods.tags import TAG_METHODS
from enstruct.metrics.tags import span_f1
from enstruct.negatives import InferencePoint
from enstruct.objectives import MARGIN

SMALL = {
    "hidden": 12,
    "embedding_dim": 8,
    "dropout": 0.1,
    "learning_rate": 0.02,
    "random_state": 0,
    "max_epochs": 10,
    "batch_size": 8,
}


def test_an_unfitted_tagger_says_so():
    with pytest.raises(NotFittedError):
        EnergySequenceTagger().predict([["a", "word"]])


@pytest.fixture(scope="module")
def sentences():
    return make_sentences(120)


@pytest.fixture(scope="module")
def test_sentences():
    return make_sentences(40, seed=1)


@pytest.fixture(scope="module")
def baseline(sentences):
    return EnergySequenceTagger("cross-entropy", **SMALL).fit(*sentences)


def test_it_learns_from_its_neighbours(baseline, test_sentences):
    words, tags = test_sentences
    assert baseline.score(words, tags) > 0.9
    assert baseline.metric_ == "span-f1"
    assert baseline.score(words, tags) == pytest.approx(span_f1(tags, baseline.predict(words)))
    assert baseline.predict_spans(words) == [find_spans(row) for row in baseline.predict(words)]
    assert set(baseline.decision_scores_) == {"greedy", "legal"}


@pytest.mark.parametrize(
    "method", sorted(set(TAG_METHODS) - {"cross-entropy", "crf", "pl", "ge", "sg-spen", "cross-entropy-longer"})
)
def test_every_method_goes_on_from_the_baseline(method, baseline, sentences, test_sentences):
    """One epoch more, from a trained tagger: it must not fall apart, and its energy must prefer the truth to noise."""
    new_local = "local" not in TAG_METHODS[method].stages[1].clamped and not TAG_METHODS[method].stages[1].transplant
    settings = {"learning_rate": 0.02, "max_epochs": 6} if new_local else {"learning_rate": 0.002, "max_epochs": 2}
    made = EnergySequenceTagger(method, **{**SMALL, **settings}, initial=baseline).fit(*sentences)
    words, tags = test_sentences
    assert made.score(words, tags) > 0.75
    if method not in ("r-spen", "infnet+"):  # whose margins a good start does not violate
        assert (made.energy_.part("chain").transitions.abs() > 0.021).any()  # it began within 0.02
    moved = [not torch.equal(a, b) for a, b in zip(made.predictor_.parameters(), baseline.predictor_.parameters(), strict=True)]
    assert any(moved) == any(stage.predictor for stage in TAG_METHODS[method].stages[1:])
    rng = np.random.default_rng(0)
    noise = [[["O", "B-PER", "I-PER", "B-LOC"][k] for k in rng.integers(4, size=len(row))] for row in tags]
    assert (made.energy(words, tags) < made.energy(words, noise)).mean() > 0.9


@pytest.mark.parametrize("method", ["dvn", "seal-regression", "seal-regression-s", "implicit-dvn"])
def test_values_do_not_sit_at_their_ends(method, baseline, sentences):
    """A value sigma(-E) near 0 or 1 would pass no gradient, to inference or to the predictor."""
    made = EnergySequenceTagger(method, **{**SMALL, "max_epochs": 1}, initial=baseline).fit(*sentences)
    words, tags = sentences
    wrong = [["O" if i % 2 else tag for i, tag in enumerate(row)] for row in tags]
    value = 1 / (1 + np.exp(made.energy(words, wrong)))
    assert np.median(value * (1 - value)) > 1e-3
    if method == "implicit-dvn":
        assert made.history_[-1]["implicit_ratio"] > 1e-3


def test_further_epochs_without_an_energy(baseline, sentences):
    made = EnergySequenceTagger("cross-entropy-longer", **{**SMALL, "max_epochs": 2}, initial=baseline).fit(*sentences)
    assert made.energy_ is None
    assert made.updates_["predictor"] == 2 * -(-108 // 8)
    assert made.score(*sentences) > 0.9


def test_a_warm_start_goes_on_with_its_energy(sentences):
    made = EnergySequenceTagger("seal-margin", **{**SMALL, "max_epochs": 1}, warm_start=True).fit(*sentences)
    local = made.energy_.part("local").scores.weight.detach().clone()
    chain = made.energy_.part("chain").transitions.detach().clone()
    made.set_params(learning_rate=1e-9).fit(*sentences)
    assert [record["stage"] for record in made.history_] == [1]
    assert torch.allclose(made.energy_.part("local").scores.weight, local, atol=1e-5)
    assert torch.allclose(made.energy_.part("chain").transitions, chain, atol=1e-5)
    with pytest.raises(ConfigError, match="choose one"):
        made.set_params(initial=made).fit(*sentences)


def test_every_method_by_itself_is_reproducible(sentences):
    for method in ("crf", "seal-nce"):
        a, b = (EnergySequenceTagger(method, **{**SMALL, "max_epochs": 1}).fit(*sentences) for _ in range(2))
        assert np.array_equal(np.concatenate(a.predict_proba(sentences[0])), np.concatenate(b.predict_proba(sentences[0])))


def test_the_crf(sentences, test_sentences):
    made = EnergySequenceTagger("crf", **{**SMALL, "max_epochs": 12}).fit(*sentences)
    words, tags = test_sentences
    assert made.score(words, tags) > 0.9
    assert set(made.decision_scores_) == {"greedy", "legal", "map"}
    best = made.predict(words, decision="map")
    others = [made.predict(words, decision=rule) for rule in ("greedy", "legal")]
    assert all((made.energy(words, best) <= made.energy(words, other) + 1e-4).all() for other in (*others, tags))
    with pytest.raises(ConfigError, match="map"):
        EnergySequenceTagger("cross-entropy", decision="map").fit(*sentences)


def test_pseudo_likelihood_beside_a_skip_chain(sentences, test_sentences):
    made = EnergySequenceTagger("pl", **{**SMALL, "max_epochs": 12}).fit(*sentences)
    words, tags = test_sentences
    assert made.score(words, tags) > 0.9
    assert set(made.decision_scores_) == {"greedy", "legal", "map"}
    again = EnergySequenceTagger("pl", **{**SMALL, "max_epochs": 12}).fit(*sentences)
    assert made.predict(words) == again.predict(words)


def test_a_tagger_learns_from_an_energy_beyond_a_chain(sentences, test_sentences):
    spec = EnergySpec(("local", "chain", "skip-2"), features="separate")
    made = EnergySequenceTagger("crf-taught", energy_network=spec, **{**SMALL, "max_epochs": 12}).fit(*sentences)
    assert made.score(*test_sentences) > 0.8


def test_a_row_nobody_published(baseline, sentences):
    from dataclasses import replace

    row = replace(TAG_METHODS["crf"], name="chain-ssvm", negatives=InferencePoint(Chain("viterbi")), objective=MARGIN)
    made = EnergySequenceTagger(row, **SMALL).fit(*sentences)
    assert made.score(*sentences) > 0.8
    coupled = configured(
        EnergySequenceTagger, "seal-margin", **{**SMALL, "max_epochs": 1}, initial=baseline, coupling=Implicit(Neumann(2))
    )
    assert coupled.fit(*sentences).history_[-1]["implicit_ratio"] > 0


def test_all_terms_and_features(sentences):
    words, tags = sentences
    paired = [[(w, "N" if w[0] in "Wx" else "F") for w in row] for row in words]
    vectors = WordVectors(["mr", "in", "the", "<unk>"], np.eye(4, 6, dtype=np.float32))
    terms = EnergySpec(("local", "chain", "skip-2", "conv", "tag-lm"), units=4, features="copied")
    clusters = {"mr": "0011", "in": "0101"}
    settings = {**SMALL, "characters": 6, "embeddings": vectors, "clusters": clusters}
    made = EnergySequenceTagger("seal-nce", **settings, energy_network=terms).fit(paired, tags)
    assert made.score(paired, tags) > 0.9
    assert made.predictor_.encoder.embedding.pretrained.shape == (5, 6)
    with pytest.raises(DataError, match="1 columns, not 2"):
        made.predict(words)
    with pytest.raises(ConfigError, match="clusters must be a path or a dict"):
        EnergySequenceTagger("cross-entropy", **{**settings, "clusters": ["mr"]}).fit(paired, tags)


def test_holes_are_read_but_not_tagged(sentences):
    words, tags = sentences
    cut = [[None if w == "." else t for w, t in zip(ws, ts, strict=True)] for ws, ts in zip(words, tags, strict=True)]
    made = EnergySequenceTagger("seal-nce", **SMALL).fit(words, cut)
    holes = [[w == "." for w in ws] for ws in words]
    found = made.predict(words, holes=holes)
    assert all((tag is None) == hole for row, hs in zip(found, holes, strict=True) for tag, hole in zip(row, hs, strict=True))
    assert made.score(words, cut) > 0.9
    assert spans_around_holes(["O", "B-PER", None, "I-PER", None, "B-PER"]) == [("PER", 1, 4), ("PER", 5, 6)]
    alone = [made.energy(words[i : i + 1], cut[i : i + 1])[0] for i in range(3)]
    assert made.energy(words, cut)[:3] == pytest.approx(alone, rel=1e-4, abs=1e-4)  # padding and holes cost nothing


def test_plain_tags_and_other_schemes(sentences):
    words, tags = sentences
    plain = [["B" if t[0] == "B" else "x" for t in row] for row in tags]
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 2}).fit(words, plain)
    assert made.metric_ == "accuracy"
    with pytest.raises(ConfigError, match="plain"):
        made.predict_spans(words)
    with pytest.raises(ConfigError, match="spell out spans"):
        EnergySequenceTagger(metric="span-f1").fit(words, plain)
    with pytest.raises(ConfigError, match="do not spell out spans"):
        EnergySequenceTagger(scheme="IOB2").fit(words, plain)
    as_they_are = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, scheme=None).fit(words, tags)
    assert list(as_they_are.classes_) == sorted({t for row in tags for t in row})


def test_illegal_tags_are_read_and_reported(sentences, caplog):
    words, tags = sentences
    with caplog.at_level(logging.WARNING, logger="enstruct"):
        EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, scheme="IOB2").fit(
            [*words, ["x1"] * 2], [*tags, ["O", "I-PER"]]
        )
    assert "1 of 121 sentences" in caplog.text


def test_saving(tmp_path, sentences, test_sentences):
    vectors = WordVectors(["mr", "in", "mr", "the", "."], np.random.default_rng(0).random((5, 8), dtype=np.float32))
    settings = {**SMALL, "max_epochs": 1, "characters": 4, "embeddings": vectors}  # a word stands in the file twice
    made = EnergySequenceTagger("seal-nce", **settings).fit(*sentences)
    made.save(tmp_path / "m")
    again = EnergySequenceTagger.load(tmp_path / "m")
    words, tags = test_sentences
    assert again.predict(words) == made.predict(words)
    assert np.array_equal(again.energy(words, tags), made.energy(words, tags))
    assert again.get_params()["hidden"] == 12
    with pytest.raises(ConfigError, match="learnt with embeddings=, which its file does not keep"):
        again.fit(*sentences)
    assert again.set_params(warm_start=True).fit(*sentences).predictor_.encoder.embedding.pretrained.shape == (6, 8)
    assert again.set_params(warm_start=False, embeddings=vectors).fit(*sentences).tokens_.vectors
    assert not clone(again).set_params(embeddings=None).fit(*sentences).tokens_.vectors
    (tmp_path / "m" / "weights.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="damaged"):
        EnergySequenceTagger.load(tmp_path / "m")


def test_refinement_and_inference(baseline, sentences, test_sentences):
    made = EnergySequenceTagger("seal-nce", **{**SMALL, "max_epochs": 1}, initial=baseline).fit(*sentences)
    words, tags = test_sentences
    assert span_f1(tags, made.predict(words, refine=5)) > 0.75
    solution = made.infer(words[:5])
    assert solution.y.shape[0] == 5
    assert made.infer(words[:5], steps=3).steps.max() <= 3
    with pytest.raises(ConfigError, match="Did you mean 'steps'"):
        made.infer(words[:5], step=3)
    with pytest.raises(ConfigError, match="whole number from 1"):
        made.predict(words, refine=2.5)
    with pytest.raises(NotFittedError):
        EnergySequenceTagger("seal-nce").infer(words)
    with pytest.raises(ConfigError, match="no energy"):
        baseline.predict(words, refine=2)


def test_odd_sentences(baseline):
    long = ["W1"] * 10_000
    found = baseline.predict([[], ["unheard"], long, []])
    assert [len(row) for row in found] == [0, 1, 10_000, 0]
    assert baseline.predict([]) == []
    assert baseline.predict_proba([[]])[0].shape == (0, len(baseline.classes_))
    with pytest.raises(DataError, match="holes of 1 sentences, and 2"):
        baseline.predict([["a"], ["b"]], holes=[[True]])


def test_words_without_letters_are_spelt(sentences):
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, characters=5).fit(*sentences)
    assert len(made.predict([["…"]])[0]) == 1
    with pytest.raises(DataError, match="Token 0 of sentence 0 is an empty word"):
        made.predict([[""]])


@pytest.mark.parametrize("settings", [{"hidden": 0}, {"dropout": 2}, {"characters": -1}, {"embedding_dim": 0}, {"layers": 0}])
def test_numbers_that_cannot_be_meant(settings, sentences):
    with pytest.raises(ConfigError, match=f"{next(iter(settings))} must be"):
        EnergySequenceTagger("cross-entropy", **{**SMALL, **settings}).fit(*sentences)


def test_tags_that_are_nearly_spans_are_said(sentences, caplog):
    words, tags = sentences
    EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}).fit([*words, ["Ada"]], [*tags, ["PER"]])
    assert "not as spans, for the sake of PER" in caplog.text


def test_a_tagger_of_spans_takes_no_other_tags(sentences):
    words, tags = sentences
    made = EnergySequenceTagger("crf", **{**SMALL, "max_epochs": 1}).fit(words, tags)
    with pytest.raises(DataError, match="'N', which is no tag of a span"):
        made.energy(words[:1], [["N"] * len(words[0])])


def test_bilou_comes_back_as_bilou(sentences):
    words, tags = sentences
    renamed = [[tag.replace("E-", "L-").replace("S-", "U-") for tag in convert(row, "BIOES")] for row in tags]
    assert any(tag.startswith("U-") for row in renamed for tag in row)
    one, other = (EnergySequenceTagger("cross-entropy", **SMALL).fit(words, given) for given in (tags, renamed))
    assert [find_spans(row) for row in one.predict(words)] == [find_spans(row) for row in other.predict(words)]
    assert {tag for row in other.predict(words) for tag in row} <= {tag for row in renamed for tag in row}
    assert other.predict_spans(words) == one.predict_spans(words)


def test_bad_input(baseline, sentences):
    words, tags = sentences
    for arguments, what in [
        ((words, tags[:-1]), "120 sentences and 119"),
        (([["a", "b"]], [["O"]]), "Sentence 0 has 2 tokens and 1 tags"),
        ((["a b"], [["O"] * 3]), "a string"),
        (([[1]], [["O"]]), "must be a word"),
        (([["a"]], [[3]]), "tags are strings"),
        (([["a"]], ["O"]), "one string"),
        (([[]], [[]]), "no sentence has a token"),
        (([["a"]], [["O"]]), "too few to hold out"),
        (([["a"]] * 20, [[None]] * 20), "no sentence has a tag"),
    ]:
        with pytest.raises(DataError, match=what):
            EnergySequenceTagger(**SMALL).fit(*arguments)
    for call in (baseline.score, EnergySequenceTagger("crf", **{**SMALL, "max_epochs": 1}).fit(words, tags).energy):
        with pytest.raises(DataError, match="119 sequences of tags"):
            call(words, tags[:-1])
    with pytest.raises(ConfigError, match="trains no predictor"):
        EnergySequenceTagger("crf", **{**SMALL, "max_epochs": 1}).fit(words, tags).predict(words, refine=2)
    with pytest.raises(DataError, match="has the tag 'B-ORG'"):
        EnergySequenceTagger("crf", **{**SMALL, "max_epochs": 1}).fit(words, tags).energy([["a"]], [["B-ORG"]])
    for settings, what in [
        ({"method": "seal-nec"}, "seal-nce"),
        ({"metric": "f1"}, "span-f1"),
        ({"decision": "best"}, "greedy"),
        ({"scheme": "BMEWO"}, "BIOES"),
        ({"cost": "soft-f1"}, "hamming-sum"),
        ({"energy_network": EnergySpec()}, "chain"),
        ({"energy_network": torch.nn.Linear(2, 2)}, "EnergySpec"),
        ({"method": "dvn", "cost": "hamming-sum"}, "hamming-mean"),
        ({"initial": EnergySequenceTagger()}, "fitted"),
        ({"validation_fraction": 1.5}, "between 0 and 1"),
        ({"max_epochs": 0}, "max_epochs"),
    ]:
        with pytest.raises(ConfigError, match=what):
            configured(EnergySequenceTagger, **{**SMALL, **settings}).fit(words, tags)
    with pytest.raises(ConfigError, match="another network"):
        EnergySequenceTagger("seal-nce", **{**SMALL, "hidden": 5}, initial=baseline).fit(words, tags)
    with pytest.raises(ConfigError, match="nothing would be trained"):
        EnergySequenceTagger("cross-entropy", **SMALL, initial=baseline).fit(words, tags)


def test_an_encoder_of_ones_own(sentences):
    class Window(torch.nn.Module):
        def __init__(self, tokens):
            super().__init__()
            self.words = torch.nn.Embedding(len(tokens.words) + 1, 16)
            self.mix = torch.nn.Conv1d(16, 32, 7, padding=3)
            self.out_features = 32

        def forward(self, x):
            h = self.words(x.columns[..., 1]) * x.there.unsqueeze(-1)
            return torch.relu(self.mix(h.transpose(1, 2)).transpose(1, 2))

    made = EnergySequenceTagger("seal-nce", **{**SMALL, "encoder": Window}).fit(*sentences)
    assert made.score(*sentences) > 0.8


def test_training_is_resumed_where_it_stopped(tmp_path, sentences):
    from enstruct.training.callbacks import Callback
    from enstruct.training.checkpoint import Checkpoint

    class Stop(Callback):
        def on_epoch_end(self, loop, record):
            if len(loop.progress.history) == 2:
                raise KeyboardInterrupt

    settings = {**SMALL, "max_epochs": 2}
    whole = EnergySequenceTagger("seal-margin", **settings).fit(*sentences)
    path = tmp_path / "c"
    with pytest.raises(KeyboardInterrupt):
        EnergySequenceTagger("seal-margin", **settings, callbacks=[Checkpoint(path), Stop()]).fit(*sentences)
    resumed = EnergySequenceTagger("seal-margin", **settings, callbacks=[Checkpoint(path, resume=True)]).fit(*sentences)
    for a, b in zip(whole.predictor_.parameters(), resumed.predictor_.parameters(), strict=True):
        assert torch.equal(a, b)


def test_validation_sentences_without_a_span(sentences, caplog):
    """F1 of spans would be 0 for every answer, the right one too, and the first epoch the best."""
    words, tags = sentences
    plain = [["is", "here", "."]] * 3
    with caplog.at_level("WARNING", "enstruct"):
        tagger = EnergySequenceTagger("cross-entropy", **SMALL).fit(words, tags, None, plain, [["O"] * 3] * 3)
    assert "no validation sentence has a span" in caplog.text
    assert tagger.decision_scores_ == {}
    assert tagger.n_iter_ == SMALL["max_epochs"]
    assert span_f1(tags, tagger.predict(words)) > 0.9


def test_a_fit_that_fails_leaves_the_tagger_as_it_was(sentences):
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 2}).fit(*sentences)
    before = made.predict(sentences[0][:5])
    with pytest.raises(ConfigError):
        made.set_params(learning_rate=-1).fit([["zz", "yy"]] * 20, [["A", "B"]] * 20)
    assert made.predict(sentences[0][:5]) == before


def test_few_sentences_take_fewer_updates_and_others_as_many_as_ever():
    for n in (90, 96, 1000, 10**5):
        found, steps = EnergySequenceTagger()._settings(n), -(-n // 32)
        assert (found.max_epochs, found.patience) == (max(40, -(-5000 // steps)), max(5, -(-500 // steps)))
    assert EnergySequenceTagger()._settings(9).max_epochs == 50


def test_networks_of_other_settings_are_neither_saved_nor_gone_on_with(sentences, tmp_path):
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}).fit(*sentences)
    made.set_params(hidden=9)
    with pytest.raises(ConfigError, match="save: the networks were made with another hidden"):
        made.save(tmp_path / "m")
    with pytest.raises(ConfigError, match="warm_start=True: the networks were made with another hidden"):
        made.set_params(warm_start=True).fit(*sentences)
    assert not (tmp_path / "m").exists()
    made.set_params(hidden=SMALL["hidden"]).fit(*sentences).save(tmp_path / "m")
    EnergySequenceTagger.load(tmp_path / "m")


class Looked(torch.nn.Module):
    """Features of words alone, of a width it says or does not."""

    def __init__(self, tokens, said=6, turned=False):
        super().__init__()
        self.table, self.out_features, self.turned = torch.nn.Embedding(len(tokens.words) + 1, 6), said, turned

    def forward(self, x):
        found = self.table(x.columns[..., 0])
        return found.transpose(1, 2) if self.turned else found


def test_encoders_of_another_form_are_explained(sentences):
    EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, encoder=Looked).fit(*sentences)
    for wrong in ({"said": 7}, {"turned": True}):
        with pytest.raises(ConfigError, match="An encoder of tokens as a TokenBatch gives features at every place"):
            EnergySequenceTagger("cross-entropy", **SMALL, encoder=lambda t, wrong=wrong: Looked(t, **wrong)).fit(*sentences)


def test_accuracy_is_of_tags_not_of_their_spelling(sentences):
    words, tags = sentences
    made = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 2}, metric="accuracy").fit(words, tags)
    assert made.score(words, tags) == made.score(words, [convert(row, "BIOES") for row in tags])


def test_classes_and_holes_in_other_forms(baseline, sentences):
    words, tags = sentences
    more = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, classes=np.append(baseline.classes_, "B-NEW"))
    assert "S-NEW" in more.fit(words, tags).classes_
    with pytest.raises(DataError, match="no sentence has a tag"):
        EnergySequenceTagger("cross-entropy", **SMALL).fit([["a"]], [[None]], None, words, tags)
