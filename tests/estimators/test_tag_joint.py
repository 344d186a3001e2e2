"""Taggers told some tags: exact answers in every scheme, told tags as told, rules that no answer breaks."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax
from tests.generated import make_sentences

from enstruct import EnergySequenceTagger, EnergySpec
from enstruct.data.tag_schemes import convert, find_spans
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.tag_format import TagFormat
from enstruct.estimators.tag_joint import TagJoint
from enstruct.estimators.tag_rules import tag_system
from enstruct.inference.chain import energies
from enstruct.joint.chain import Block, ChainJoint, Costs, Links, linked
from enstruct.rules import Soft
from enstruct.rules.tags import AtMostOnce, Ends, Gazetteer, NeverFollows, OnlyFollows, Starts, tag_may_be

SMALL = {"hidden": 12, "embedding_dim": 8, "dropout": 0.1, "learning_rate": 0.02, "random_state": 0, "max_epochs": 6}
WORDS, TAGS = make_sentences(120)
NEW, TRUTH = make_sentences(30, seed=1)


def in_scheme(tags, scheme):
    return [convert(row, scheme) for row in tags]


@pytest.fixture(scope="module", params=["cross-entropy", "crf", "seal-margin"])
def tagger(request):
    return EnergySequenceTagger(request.param, **SMALL).fit(WORDS, TAGS)


def half_told(tags, seed=0):
    rng = np.random.default_rng(seed)
    return [[tag if rng.random() < 0.5 else None for tag in row] for row in tags]


def test_told_tags_come_back_as_told_and_help(tagger):
    known = half_told(TRUTH)
    told, untold = tagger.predict(NEW, known=known), tagger.predict(NEW)
    right = {"told": 0, "untold": 0}
    for row, with_known, without, truth in zip(known, told, untold, TRUTH, strict=True):
        assert all(tag is None or tag == given for tag, given in zip(row, with_known, strict=True))
        assert convert(with_known, "IOB2") == list(with_known)
        for tag, a, b, right_tag in zip(row, with_known, without, truth, strict=True):
            right["told"] += tag is None and a == right_tag
            right["untold"] += tag is None and b == right_tag
    assert right["told"] >= right["untold"]


def test_answers_are_those_of_all_sequences(tagger):
    """Marginals, density, mode and samples of short sentences, against log_prob of every sequence."""
    words = [row[:3] for row in NEW[:4]]
    tags = sorted(tagger.tags_.user_tags)
    for known in (None, [[None, tags[1], None]] * 4):
        every = [y for y in itertools.product(tags, repeat=3) if known is None or y[1] == tags[1]]
        log_p = np.array([tagger.log_prob(words, [list(y)] * 4, known=known) for y in every])
        np.testing.assert_allclose(np.exp(log_p).sum(0), 1, rtol=1e-5)
        best = tagger.predict(words, known=[[None] * 3] * 4 if known is None else known)
        for i in range(4):
            assert best[i] == list(every[log_p[:, i].argmax()])
        p = tagger.predict_proba(words, known=[[None] * 3] * 4 if known is None else known)
        outside = list(tagger.classes_).index("O")
        for t in range(3):
            share = sum(np.exp(row) for y, row in zip(every, log_p, strict=True) if y[t] == "O")
            np.testing.assert_allclose([one[t, outside] for one in p], np.broadcast_to(share, 4), atol=1e-5)
        drawn = tagger.sample(words, 400, known=known, random_state=0)
        for i in range(4):
            top = every[log_p[:, i].argmax()]
            share = np.mean([list(top) == one for one in drawn[i]])
            assert abs(share - np.exp(log_p[:, i].max())) < 0.13


def test_open_tags_are_summed_over(tagger):
    y = [[*row] for row in TRUTH[:3]]
    part = [[tag if t % 2 else None for t, tag in enumerate(row)] for row in y]
    whole, some = tagger.log_prob(NEW[:3], y), tagger.log_prob(NEW[:3], part)
    assert (some > whole).all()
    np.testing.assert_allclose(some + tagger.log_prob(NEW[:3], y, known=part), whole, atol=1e-4)


@pytest.mark.parametrize("scheme", ["IOB1", "BIOES", "BILOU"])
def test_told_tags_of_every_scheme_come_back_as_told(scheme):
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 2}).fit(WORDS, in_scheme(TAGS, scheme))
    for seed in range(5):
        known = half_told(in_scheme(TRUTH, scheme), seed)
        for row, answer in zip(known, tagger.predict(NEW, known=known), strict=True):
            assert all(tag is None or tag == given for tag, given in zip(row, answer, strict=True))
            assert convert(answer, scheme) == answer


def test_links_are_learnt_saved_and_better_than_none(tmp_path):
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 2}).fit(WORDS, TAGS)
    tagger.save(tmp_path / "m")
    loaded = EnergySequenceTagger.load(tmp_path / "m")
    known = half_told(TRUTH)
    assert loaded.predict(NEW, known=known) == tagger.predict(NEW, known=known)
    np.testing.assert_allclose(loaded.log_prob(NEW, TRUTH), tagger.log_prob(NEW, TRUTH), rtol=1e-5)
    with_links = tagger.log_prob(NEW, TRUTH).mean()
    tagger.links_ = None
    assert with_links > tagger.log_prob(NEW, TRUTH).mean()


def test_a_field_learns_from_partly_annotated_sentences():
    """Half of the tags open: what the others say of them counts, which a tagger of single tokens cannot use."""
    open_half = half_told(TAGS, 3)
    scores = [
        EnergySequenceTagger(method, **{**SMALL, "max_epochs": 30}).fit(WORDS, open_half).score(NEW, TRUTH)
        for method in ("crf", "cross-entropy")
    ]
    assert scores[0] > max(0.5, scores[1])


def with_one_person():
    """(sentences, tags) of training that have one at most."""
    few = [i for i, row in enumerate(TAGS) if row.count("B-PER") <= 1]
    return [WORDS[i] for i in few], [TAGS[i] for i in few]


def test_no_answer_breaks_a_rule(tmp_path):
    word, rules = "Lovelace", [AtMostOnce("PER"), Gazetteer("PER", ["Lovelace"])]
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, rules=rules).fit(*with_one_person())
    tagger.save(tmp_path / "m")
    new = [[word if t == 1 else one for t, one in enumerate(row)] for row in NEW[::2]] + NEW[1::2]
    for one in (tagger, EnergySequenceTagger.load(tmp_path / "m")):
        for row, tags in zip(new, one.predict(new), strict=True):
            spans = [span for span in find_spans(tags) if span.type == "PER"]
            assert len(spans) <= 1
            assert all(any(s.start == t and s.end == t + 1 for s in spans) for t, w in enumerate(row) if w == word)
        for drawn in one.sample(new[:5], 20):
            assert all(sum(span.type == "PER" for span in find_spans(tags)) <= 1 for tags in drawn)


def test_sentences_that_break_a_rule_are_decoded_with_a_memory():
    """And all have the answers that they have where each is."""
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 30, "n_iter_no_change": 30}).fit(WORDS, TAGS)
    joint = tagger._joint(NEW)
    ruled = replace(joint, system=tag_system([AtMostOnce("PER"), AtMostOnce("LOC")], tagger.tags_))
    first = [next((t for t, tag in enumerate(row) if tag == "B-PER"), None) for row in TRUTH]
    for known in (None, [["B-PER" if t == at else None for t in range(len(row))] for row, at in zip(NEW, first, strict=True)]):
        free, found = (one.best(known) for one in (joint, ruled))
        assert 0 < ruled._has_twice(free.tags).sum() < len(NEW)
        assert not ruled._has_twice(found.tags).any()
        whole = ruled.remembering()
        states, possible = whole.chain.decoded(whole._allowed(known, "known"))
        assert possible.all()
        np.testing.assert_array_equal(found.tags, states % len(tagger.tags_.tags))


def test_preferences_weigh_the_chain_and_do_not_bind(tmp_path):
    """Odds of all sequences of short sentences, against those of the same tagger without rules."""
    soft = [Soft(AtMostOnce("PER"), 1.2), Soft(NeverFollows("O", "B-LOC"), 0.8), Soft(Gazetteer("LOC", [NEW[0][1]]), 2.0)]
    free = EnergySequenceTagger("cross-entropy", **SMALL).fit(WORDS, TAGS)
    ruled = EnergySequenceTagger("cross-entropy", **SMALL, rules=soft).fit(WORDS, TAGS)
    ruled.save(tmp_path / "m")
    for a, b in zip(free.links_, ruled.links_, strict=True):
        assert torch.equal(a, b)  # which take nothing of it back
    words, names = [NEW[0][:3]], sorted(free.tags_.user_tags)
    every = [y for y in itertools.product(names, repeat=3) if convert(y, "IOB2") == [*y]]
    plain = np.array([free.log_prob(words, [list(y)])[0] for y in every])
    people = np.array([max(0, y.count("B-PER") - 1) for y in every])
    pairs = np.array([[*itertools.pairwise(y)].count(("O", "B-LOC")) for y in every])
    # BIOES inside: of a place of one token alone no token of the phrase is tagged otherwise
    phrase = np.array([y[1] != "B-LOC" or y[2] == "I-LOC" for y in every])
    expected = plain - 1.2 * people - 0.8 * pairs - 2.0 * phrase
    expected -= np.log(np.exp(expected).sum())
    for one in (ruled, EnergySequenceTagger.load(tmp_path / "m")):
        np.testing.assert_allclose([one.log_prob(words, [list(y)])[0] for y in every], expected, atol=1e-4)
        assert one.predict(words)[0] == list(every[expected.argmax()])
        people_at_first = sum(np.exp(value) for y, value in zip(every, expected, strict=True) if y[0] == "B-PER")
        at = [k for k, name in enumerate(one.classes_) if tag_may_be("B-PER", name, "IOB2")]
        assert one.predict_proba(words)[0][0, at].sum() == pytest.approx(people_at_first, abs=1e-4)


def test_a_rule_that_the_sentences_break_often_is_refused():
    with pytest.raises(DataError, match="training sentences that it is about break the rule at most one 'PER'"):
        EnergySequenceTagger("cross-entropy", **SMALL, rules=AtMostOnce("PER")).fit(WORDS, TAGS)


def test_under_rules_the_best_sequence_is_the_only_decision():
    rules = AtMostOnce("PER")
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}, rules=rules)
    tagger.fit(*with_one_person(), X_val=NEW, y_val=TRUTH)
    assert tagger.decision_scores_ == {"map": tagger.score(NEW, TRUTH)}
    assert tagger.rules_ == ("map",)
    assert tagger.decision_ == "map"
    holes = half_told(TRUTH)
    assert 0 <= tagger.score(NEW, holes) <= 1
    answers = tagger.predict(NEW, holes=[[tag is None for tag in row] for row in holes])
    whole = tagger.predict(NEW, decision="map")
    for row, answer, untouched in zip(holes, answers, whole, strict=True):
        assert answer == [None if tag is None else there for tag, there in zip(row, untouched, strict=True)]
    with pytest.raises(ConfigError, match="best sequence"):
        EnergySequenceTagger("crf", **SMALL, decision="legal", rules=rules).fit(WORDS, TAGS)
    with pytest.raises(DataError, match="holes="):
        tagger.predict(NEW, holes=[[False]])


def test_sentences_without_tokens_are_answered_by_every_method(tagger):
    words = [[], NEW[0], []]
    known = [[], [None] * len(NEW[0]), []]
    assert [len(tags) for tags in tagger.predict(words, known=known)] == [0, len(NEW[0]), 0]
    assert tagger.log_prob(words, [[], TRUTH[0], []])[[0, 2]].tolist() == [0, 0]
    assert [len(one) for one in tagger.sample(words, 2)] == [2, 2, 2]


def test_a_pass_over_partly_annotated_sentences():
    """The first pass of a field goes over open tokens too, as its fit does."""
    tagger = EnergySequenceTagger("crf", **SMALL, batch_size=8)
    for _ in range(12):
        tagger.partial_fit(WORDS, half_told(TAGS, 3), classes=sorted({tag for row in TAGS for tag in row}))
    assert tagger.score(NEW, TRUTH) > 0.3


def test_quality_of_tags_is_that_of_all_sequences(tagger):
    """p(y_t | x, the tags outside of its span or run of O) by enumeration of everything that may stand in the unit."""
    i = next(i for i, row in enumerate(TRUTH) if any(tag.startswith("I-") for tag in row) and len(row) < 9)
    row, names = [*TRUTH[i]], tagger.classes_.tolist()
    may = [[k for k, name in enumerate(names) if tag_may_be(tag, name, "IOB2")] for tag in row]
    quality = tagger.tag_quality([NEW[i]], [row])[0]
    span_of = {t: span for span in find_spans(row) for t in range(span.start, span.end)}
    units = [list(unit) for _, unit in itertools.groupby(range(len(row)), key=span_of.get)]
    ((_, chain, _),) = tagger._joint([NEW[i]], bound=False).chain.blocks
    for unit in (unit for unit in units if len(unit) < 4):
        some = torch.tensor(list(itertools.product(*(range(len(names)) if t in unit else may[t] for t in range(len(row))))))
        wide = chain._replace(unary=chain.unary.expand(len(some), -1, -1), there=chain.there.expand(len(some), -1))
        p = torch.softmax(-energies(wide, some), 0).detach()
        for t in unit:
            expected = sum(float(p[some[:, t] == k].sum()) for k in may[t])
            assert quality[t] == pytest.approx(expected, rel=1e-4)
    if tagger.method != "crf":  # whose own probabilities these are
        own = tagger.predict_proba([NEW[i]])[0]
        np.testing.assert_allclose(quality, [own[t, may[t]].sum() for t in range(len(row))], rtol=1e-4)
    assert np.isnan(tagger.tag_quality([NEW[i]], [[None] * len(row)])[0]).all()


def test_under_rules_a_tag_that_breaks_one_has_no_quality():
    """Both of two places where one is allowed."""
    ruled = EnergySequenceTagger("crf", **SMALL, rules=AtMostOnce("LOC"))
    one = [i for i, row in enumerate(TAGS) if sum(tag == "B-LOC" for tag in row) < 2]
    ruled.fit([WORDS[i] for i in one], [TAGS[i] for i in one])
    words = ["Rome", "and", "Oslo"]
    quality = ruled.tag_quality([words], [["B-LOC", "O", "B-LOC"]])[0]
    assert quality[[0, 2]].max() < 1e-9


def test_bad_tags_of_one_sentence_are_explained_without_the_others(tagger, monkeypatch):
    known = [[None] * len(row) for row in NEW]
    known[7] = ["O"] * len(NEW[7])
    known[7][-1] = next(tag for tag in sorted(tagger.tags_.user_tags) if tag.startswith("I-"))
    joint = tagger._joint(NEW)
    asked = []
    original = type(joint.chain).possible
    monkeypatch.setattr(
        type(joint.chain), "possible", lambda self, may=None: (asked.append(len(self.offsets) - 1), original(self, may))[1]
    )
    with pytest.raises(DataError, match="of sentence 7"):
        tagger.predict(NEW, known=known)
    assert set(asked) == {1}


def test_what_cannot_be_told_is_refused(tagger):
    known = [[None] * len(row) for row in NEW]
    inside = next(tag for tag in sorted(tagger.tags_.user_tags) if tag.startswith("I-"))
    known[2][0] = inside
    with pytest.raises(DataError, match=f"known tells '{inside}' for token 0 of sentence 2, which breaks the scheme IOB2: mend"):
        tagger.predict(NEW, known=known)
    known[2][0] = "B-NONE"
    with pytest.raises(DataError, match="'B-NONE' for token 0 of sentence 2, which training has not seen"):
        tagger.predict(NEW, known=known)
    known[2][0] = inside.lower()
    with pytest.raises(DataError, match=f"which training has not seen. Did you mean '{inside}'"):
        tagger.predict(NEW, known=known)
    with pytest.raises(DataError, match="one for each"):
        tagger.predict(NEW, known=known[:3])
    known[2] = [None]
    with pytest.raises(DataError, match="Sentence 2 has"):
        tagger.predict(NEW, known=known)
    for odd in (5, "B-PER", {0: "O"}):
        known[2] = odd
        with pytest.raises(DataError, match="Sentence 2 of known must be a list of tags"):
            tagger.predict(NEW, known=known)
    with pytest.raises(DataError, match="known must be a list"):
        tagger.predict(NEW, known=5)
    known[2] = [["O"], *[None] * (len(NEW[2]) - 1)]
    with pytest.raises(DataError, match=r"known has \['O'\] for token 0 of sentence 2"):
        tagger.predict(NEW, known=known)
    known[2] = None  # of which nothing is told
    assert tagger.predict(NEW, known=known) == tagger.predict(NEW, known=[[None] * len(row) for row in NEW])
    with pytest.raises(ConfigError, match="best sequence"):
        tagger.predict(NEW, known=[[None] * len(row) for row in NEW], decision="greedy")
    with pytest.raises(ConfigError, match="Unknown type"):
        EnergySequenceTagger("cross-entropy", **SMALL, rules=AtMostOnce("none")).fit(WORDS, TAGS)


@pytest.mark.parametrize("method", ["cross-entropy", "crf"])
def test_a_told_tag_that_breaks_a_rule_is_refused_by_the_name_of_the_rule(method):
    words, tags = [["Rome", "met", "Ada", "King"], ["she", "ran"]] * 30, [["B-LOC", "O", "B-PER", "I-PER"], ["O", "O"]] * 30
    rules = [AtMostOnce("LOC"), NeverFollows("B-LOC", "B-PER"), Gazetteer("PER", ["Ada King"]), Soft(NeverFollows("O", "O"), 1.0)]
    ruled = EnergySequenceTagger(method, **{**SMALL, "max_epochs": 1}, rules=rules).fit(words, tags)
    for ask in (ruled.predict, ruled.predict_proba):
        with pytest.raises(DataError) as told:
            ask([["in", "Rome", "and", "Oslo"]], known=[[None, "B-LOC", None, "B-LOC"]])
        wrong = "'B-LOC' for token 3 of sentence 0, which breaks at most one 'LOC' a sentence after what is told before it: mend"
        assert wrong in str(told.value)
    with pytest.raises(DataError, match="token 1 of sentence 0, which breaks 'B-PER' never follows 'B-LOC' after what is told"):
        ruled.predict([["in", "Rome"]], known=[["B-LOC", "B-PER"]])
    with pytest.raises(DataError, match="'O' for token 1 of sentence 1, which breaks 'Ada King' is 'PER': mend"):
        ruled.predict([["Rome"], ["met", "Ada", "King"]], known=[[None], [None, "O", None]])
    with pytest.raises(DataError, match="'O' for token 2 of sentence 0, which breaks 'Ada King' is 'PER': mend"):
        ruled.predict([["she", "met", "Ada", "King"]], known=[["O", None, "O", None]])  # what is told before plays no part
    wide = [NeverFollows("I-PER", "B-LOC"), Gazetteer("PER", ["Ada King Lee"]), Gazetteer("LOC", ["Ada King"])]
    both = EnergySequenceTagger(method, **{**SMALL, "max_epochs": 1}, rules=wide).fit(
        [["a", "b", "c"]] * 30, [["O", "B-LOC", "B-PER"]] * 30
    )
    with pytest.raises(DataError, match="breaks 'B-LOC' never follows 'I-PER'; 'Ada King Lee' is 'PER': mend"):
        both.predict([["Ada", "King", "Lee", "Rome"]], known=[[None, None, None, "B-LOC"]])  # the longer phrase comes first
    long, heavy = ["w"] * 700, EnergySequenceTagger(method, **{**SMALL, "max_epochs": 1}, rules=Soft(NeverFollows("O", "O"), 1e6))
    assert heavy.fit(words, tags).predict([long], known=[["O"] * 700]) == [["O"] * 700]
    rules = [AtMostOnce("PER"), NeverFollows("B-LOC", "B-PER"), Gazetteer("PER", ["Ada", "Bo"])]
    twice = EnergySequenceTagger(method, **{**SMALL, "max_epochs": 1}, rules=rules)
    twice.fit(words, [["B-LOC", "O", "B-PER", "O"], ["O", "O"]] * 30)
    with pytest.raises(
        DataError, match=r"sentence 0 \(Ada met Bo\) keep the rules: at most one 'PER' a sentence; 'Ada', 'Bo' are"
    ):
        twice.predict([["Ada", "met", "Bo"]])


def test_a_begin_beside_an_open_tag_teaches_no_end():
    """In IOB2 what follows B-PER may go on: of spans of two tokens with the second open, no single-token ones are learnt."""
    words, tags = [["Ann", "Lee", "ran"], ["Bo", "Ray", "sat"]] * 60, [["B-PER", None, "O"]] * 120
    whole = [["Cy", "Day", "ran"]] * 40
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 20})
    tagger.fit([*words, *whole], [*tags, *[["B-PER", "I-PER", "O"]] * 40])
    p = dict(zip(tagger.classes_.tolist(), tagger.predict_proba([["Ann", "Lee", "ran"]])[0][0], strict=True))
    assert p["B-PER"] + p["S-PER"] > 0.9
    assert p["S-PER"] < 0.6


def test_rules_hold_until_another_fit_and_leave_no_room_for_refinement(tmp_path):
    rules = [AtMostOnce("PER")]
    model = EnergySequenceTagger("seal-nce", **{**SMALL, "max_epochs": 1}, rules=rules).fit(*with_one_person())
    answers = model.predict(NEW)
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(ConfigError, match="which refine= knows nothing of"):
            ask(NEW, refine=2)
    model.set_params(rules=None)
    assert model.predict(NEW) == answers
    with pytest.raises(ConfigError, match="rules= were changed after fit"):
        model.save(tmp_path / "model")
    model.set_params(rules=rules).save(tmp_path / "model")
    assert EnergySequenceTagger.load(tmp_path / "model").predict(NEW) == answers


def test_in_iob1_what_is_known_and_what_is_asked_say_together_where_tags_stand():
    """I-P stands behind no span of its type, B-P right behind one, whoever says so."""
    tagger = EnergySequenceTagger("cross-entropy", **{**SMALL, "max_epochs": 1}).fit(WORDS, in_scheme(TAGS, "IOB1"))
    joint, words, own = tagger._joint(NEW[:1]), len(NEW[0]), tagger.tags_.user_tags
    nothing, kind = [None] * words, next(tag for tag in own if tag != "O")[2:]
    for tag in (f"B-{kind}", f"I-{kind}", "O"):
        known = [[None, tag, *nothing[2:]]]
        assert joint.log_probability([nothing], known) == pytest.approx([0.0], abs=1e-6)
        assert joint.log_probability(known, known) == pytest.approx([0.0], abs=1e-6)
        every = [joint.log_probability([[one, *nothing[1:]]], known)[0] for one in own]
        total = np.exp(every).sum()
        assert total == pytest.approx(1.0, abs=1e-6), tag
        other = next(one for one in own if one != tag)
        assert np.isneginf(joint.log_probability([[None, other, *nothing[2:]]], known)).all()


@pytest.mark.parametrize("method", ["cross-entropy", "crf"])
def test_log_probabilities_are_those_of_the_probabilities_under_rules(method):
    tagger = EnergySequenceTagger(
        method, rules=Soft(AtMostOnce(next(tag for tag in TAGS[0] if tag != "O")[2:]), 1.5), **{**SMALL, "max_epochs": 1}
    ).fit(WORDS, TAGS)
    for logs, p in zip(tagger.decision_function(NEW), tagger.predict_proba(NEW), strict=True):
        np.testing.assert_allclose(np.exp(logs), p, atol=1e-6)


FORMAT = TagFormat.fit([["O", "B-P", "I-P", "B-Q", "I-Q"]], "IOB2")
LENGTH = 4


def legal_iob2(row):
    return all(tag[0] != "I" or (t and row[t - 1][1:] == tag[1:]) for t, tag in enumerate(row))


EVERY = [row for row in itertools.product(sorted(FORMAT.user_tags), repeat=LENGTH) if legal_iob2(row)]


def random_rules(rng):
    """One to three rules, and the same as Python says them of a sequence of the user's tags."""
    tags, out = sorted(FORMAT.user_tags), []
    for _ in range(rng.integers(1, 4)):
        a, b = rng.choice(tags, 2)
        some = sorted({str(one) for one in rng.choice(tags, 3)})
        kind = str(rng.choice(["P", "Q"]))
        options = [
            (NeverFollows(a, b), lambda y, a=a, b=b: (a, b) not in set(itertools.pairwise(y))),
            (
                OnlyFollows(b, some),
                lambda y, b=b, some=some: all(one != b or (t and y[t - 1] in some) for t, one in enumerate(y)),
            ),
            (Starts(some), lambda y, some=some: y[0] in some),
            (Ends(some), lambda y, some=some: y[-1] in some),
            (AtMostOnce(kind), lambda y, kind=kind: y.count(f"B-{kind}") <= 1),
            (Gazetteer(kind, ["w1 w2"]), lambda y, kind=kind: y[1:] == (f"B-{kind}", f"I-{kind}", y[3]) and y[3] != f"I-{kind}"),
            (Gazetteer(kind, ["w2"], must=False), lambda y, kind=kind: y[2][2:] != kind),
        ]
        phrased = any(isinstance(rule, Gazetteer) for rule, _ in out)  # of several some give way
        out.append(options[rng.integers(len(options) - 2 * phrased)])
    return [rule for rule, _ in out], lambda y: all(holds(y) for _, holds in out)


def random_joint(rng, rules):
    """A sentence of made-up potentials, and the energy of each of its sequences."""
    n = len(FORMAT.tags)
    system = tag_system(rules, FORMAT)
    parts = [torch.from_numpy(rng.standard_normal(shape)) for shape in ((n, n), (n,), (n,))]
    values = torch.log_softmax(torch.from_numpy(2 * rng.standard_normal((1, LENGTH, n))), 2)
    plain = linked(values, torch.ones(1, LENGTH, dtype=torch.bool), Links(torch.ones(()), *parts))
    legal = Costs.of(system.follow, system.start, system.end).within(plain)
    joint = ChainJoint([Block(np.zeros(1, dtype=np.intp), legal)], np.array([0, LENGTH]), n)
    encoded = torch.from_numpy(np.stack(FORMAT.encode([list(row) for row in EVERY]).split()))
    wide = plain._replace(unary=plain.unary.expand(len(EVERY), -1, -1), there=plain.there.expand(len(EVERY), -1))
    return TagJoint(FORMAT, system, joint, [[f"w{t}" for t in range(LENGTH)]]), energies(wide, encoded).numpy(), encoded.numpy()


def test_random_rules_and_told_tags_against_all_sequences():
    """The best sequence is the enumerated one, marginals are those of the enumerated distribution, no sample breaks a rule, and
    what is refused has no sequence."""
    rng, counts = np.random.default_rng(0), {"systems": 0, "refused": 0, "outputs": 0}
    for seed in range(150):
        rules, holds = random_rules(rng)
        try:
            joint, energy, encoded = random_joint(rng, rules)
        except ConfigError:  # no sentence of any length
            assert not any(map(holds, EVERY))
            continue
        truth = EVERY[rng.integers(len(EVERY))]
        for known in ([None] * LENGTH, [tag if rng.random() < 0.4 else None for tag in truth]):
            fits = np.array([holds(y) and all(k is None or k == a for k, a in zip(known, y, strict=True)) for y in EVERY])
            counts["systems"] += 1
            if not fits.any():
                with pytest.raises(DataError):
                    joint.best([known])
                with pytest.raises(DataError):
                    joint.samples(1, seed, [known])
                counts["refused"] += 1
                continue
            best = tuple(FORMAT.names(joint.best([known]))[0])
            assert FORMAT.as_given([list(best)])[0] == list(EVERY[np.flatnonzero(fits)[energy[fits].argmin()]])
            weight = np.exp(-(energy[fits] - energy[fits].min()))
            share = np.stack([(weight[:, None] * (encoded[fits] == k)).sum(0) / weight.sum() for k in range(len(FORMAT.tags))], 1)
            np.testing.assert_allclose(joint.marginals([known]), share, atol=1e-9)
            for drawn in joint.samples(20, seed, [known]):
                y = tuple(FORMAT.as_given(FORMAT.names(drawn))[0])
                assert fits[EVERY.index(y)]
                counts["outputs"] += 1
    assert counts["outputs"] > 4000
    assert 10 < counts["refused"] < counts["systems"] / 2


def test_rules_that_the_first_pass_breaks_often_are_refused():
    tagger = EnergySequenceTagger("cross-entropy", rules=AtMostOnce("PER"), **SMALL)
    doubled = [[*row, *row] for row in TAGS[:20]], [[*row, *row] for row in WORDS[:20]]
    with pytest.raises(DataError, match="training sentences that it is about break the rule at most one 'PER'"):
        tagger.partial_fit(doubled[1], doubled[0])
    assert not hasattr(tagger, "predictor_")


@pytest.fixture(scope="module", params=["pl", "crf"])
def richer(request):
    """Taggers whose energies are more than a chain."""
    terms = EnergySpec(("local", "chain", "skip-2", "conv"), units=8, features="separate") if request.param == "crf" else None
    return EnergySequenceTagger(request.param, energy_network=terms, **SMALL).fit(WORDS[:60], TAGS[:60])


def test_energies_beyond_a_chain_answer_by_sampling(richer, tmp_path):
    """Marginals, density, mode and samples of short sentences against the energies of all legal sequences; told tags stay."""
    words, tags = [row[:3] for row in NEW[:4]], sorted(richer.tags_.user_tags)
    for told in (None, tags[1]):
        known = [[None, told, None]] * 4
        every = [y for y in itertools.product(tags, repeat=3) if convert(list(y), "IOB2") == list(y) and told in (None, y[1])]
        pairs = [row for row in words for _ in every], [list(y) for _ in words for y in every]
        p = np.stack([softmax(row) for row in -np.reshape(richer.energy(*pairs), (4, -1))])
        assert p.max() > 0.5
        found = np.reshape(richer.log_prob(*pairs, known=known[:1] * len(pairs[0])), (4, -1))
        np.testing.assert_allclose(np.exp(found).sum(1), 1, atol=0.15)
        best, marginals = richer.predict(words, known=known), richer.predict_proba(words, known=known)
        drawn = richer.sample(words, 300, known=known, random_state=0)
        outside = list(richer.classes_).index("O")
        for i in range(4):
            np.testing.assert_allclose(np.exp(found[i]), p[i], atol=0.1)
            assert p[i][every.index(tuple(best[i]))] == pytest.approx(p[i].max(), rel=1e-5)
            for t in range(3):
                share = sum(one for y, one in zip(every, p[i], strict=True) if y[t] == "O")
                assert marginals[i][t, outside] == pytest.approx(share, abs=0.06)
                assert np.mean([row[t] == "O" for row in drawn[i]]) == pytest.approx(share, abs=0.1)
            assert all(tuple(row) in every for row in drawn[i])
    richer.save(tmp_path / "m")
    half = half_told(TRUTH)
    answers = richer.predict(NEW, known=half)
    assert EnergySequenceTagger.load(tmp_path / "m").predict(NEW, known=half) == answers
    assert all(a is None or a == b for given, row in zip(half, answers, strict=True) for a, b in zip(given, row, strict=True))
    quality = np.concatenate(richer.tag_quality(NEW[:5], TRUTH[:5]))
    assert ((quality >= 0) & (quality <= 1 + 1e-6)).all()


def test_energies_beyond_a_chain_keep_rules():
    spec = EnergySpec(("local", "chain", "skip-2"), features="separate")
    tagger = EnergySequenceTagger("crf", energy_network=spec, **{**SMALL, "max_epochs": 2}, rules=AtMostOnce("PER"))
    tagger.fit(*with_one_person())
    for rows in (tagger.predict(NEW), *zip(*tagger.sample(NEW, 5), strict=True)):
        assert all(row.count("B-PER") <= 1 and convert(list(row), "IOB2") == list(row) for row in rows)
    p, joint = tagger.predict_proba(NEW[:3]), tagger._joint(NEW[:3])
    np.testing.assert_allclose([row.sum() for row in p], [len(row) for row in NEW[:3]], rtol=1e-6)
    assert joint.remembering().chain.blocks[0].rest is not None
