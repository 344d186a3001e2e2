"""Rules of tags against their meaning, sequence by sequence."""

import itertools

import numpy as np
import pytest

from enstruct.data.tag_schemes import convert, legal_transitions, tags_of_scheme
from enstruct.errors import ConfigError
from enstruct.rules import Excludes, Soft
from enstruct.rules.tags import (
    AtMostOnce,
    Ends,
    Gazetteer,
    NeverFollows,
    OnlyFollows,
    Starts,
    TagSystem,
    tag_may_be,
)

TAGS = tuple(tags_of_scheme(["P", "Q"], "BIOES"))


def system(rules, scheme="IOB2"):
    return TagSystem.of(rules, TAGS, tags_of_scheme(["P", "Q"], scheme), scheme, legal_transitions(TAGS, "BIOES"))


def sequences(compiled, length):
    """All that the compiled states allow, as numbers of tags."""
    follow, start, end, tag = compiled.expanded()
    follow, start, end = (np.isfinite(part) for part in (follow, start, end))
    paths = [[s] for s in np.flatnonzero(start)]
    for _ in range(length - 1):
        paths = [[*path, t] for path in paths for t in np.flatnonzero(follow[path[-1]])]
    return [tuple(TAGS[tag[s]] for s in path) for path in paths if end[path[-1]]]


def meant(rule, tags):
    """Of a user's sequence in IOB2."""
    match rule:
        case NeverFollows(before, tag):
            return (before, tag) not in set(itertools.pairwise(tags))
        case OnlyFollows(tag, befores):
            return all(t != tag or (i > 0 and tags[i - 1] in befores) for i, t in enumerate(tags))
        case Starts(some):
            return tags[0] in some
        case Ends(some):
            return tags[-1] in some
        case AtMostOnce(kind):
            return sum(t == f"B-{kind}" for t in tags) <= 1
    raise AssertionError(rule)


RULES = [
    NeverFollows("B-P", "B-Q"),
    NeverFollows("O", "B-P"),
    OnlyFollows("B-Q", ["I-P", "O"]),
    Starts(["O", "B-Q"]),
    Ends(["O", "I-P"]),
    AtMostOnce("P"),
]


@pytest.mark.parametrize("rules", [[], *[[rule] for rule in RULES], RULES[:2] + RULES[5:], [AtMostOnce("P"), AtMostOnce("Q")]])
def test_allowed_sequences_are_those_that_keep_scheme_and_rules(rules):
    found = sequences(system(rules), 4)
    assert len(found) == len(set(found))
    legal = sequences(system([]), 4)
    as_iob2 = {tags: convert(tags, "IOB2") for tags in legal}
    assert set(found) == {tags for tags in legal if all(meant(rule, as_iob2[tags]) for rule in rules)}


@pytest.mark.parametrize(
    "rule",
    [
        NeverFollows("O", "B-P"),
        NeverFollows("O", "I-P"),
        NeverFollows("I-Q", "I-P"),
        OnlyFollows("B-Q", ["I-Q", "B-Q"]),
        OnlyFollows("I-Q", ["O", "I-Q", "B-Q"]),
        Starts(["O", "B-Q"]),
        Starts(["I-Q", "B-P"]),
        Ends(["O", "I-P", "B-P"]),
    ],
    ids=str,
)
def test_in_iob1_a_tag_is_what_stands_there(rule):
    """Of rules whose tags before mean all tokens of a type, or none that begins a span."""
    legal = sequences(system([], "IOB1"), 4)
    found = set(sequences(system([rule], "IOB1"), 4))
    as_iob1 = {tags: convert(tags, "IOB1") for tags in legal}
    before = {"I-Q": ("I-Q", "B-Q")}.get(getattr(rule, "before", None), (getattr(rule, "before", None),))
    each = [NeverFollows(one, rule.tag) for one in before] if isinstance(rule, NeverFollows) else [rule]
    assert found == {tags for tags in legal if all(meant(one, as_iob1[tags]) for one in each)}
    always = (NeverFollows("O", "B-P"), OnlyFollows("B-Q", ["I-Q", "B-Q"]))  # of whatever is written in IOB1
    assert (len(found) == len(legal)) == (rule in always)


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES", "BILOU", "IOB1"])
def test_a_users_tag_stands_for_the_trained_ones_that_are_written_so(scheme):
    for tags in sequences(system([]), 4):
        for trained, own in zip(tags, convert(tags, scheme), strict=True):
            assert tag_may_be(own, trained, scheme)
    assert not tag_may_be("O", "B-P", scheme)
    assert not tag_may_be("B-P", "B-Q", scheme)


def test_gazetteers():
    rules = [Gazetteer("P", ["New York", "York"]), Gazetteer("Q", ["York Times", "May"], must=False)]
    costs = system(rules).phrase_costs(["in", "New", "York", "Times", "May", "York"])
    names = [{tag for tag, cost in zip(TAGS, row, strict=True) if not cost} for row in costs]
    assert names[1:3] == [{"B-P"}, {"E-P"}]
    assert names[5] == {"S-P"}
    assert names[0] == names[3] == set(TAGS)  # "York Times" gives way to "New York"
    assert names[4] == {tag for tag in TAGS if not tag.endswith("-Q")}
    assert set(np.unique(costs)) == {0, np.inf}


def test_phrases_as_preferences_give_way_to_what_binds():
    binding = [Gazetteer("P", ["York Times"]), Gazetteer("Q", ["May"], must=False)]
    soft = [Soft(Gazetteer("Q", ["New York", "in", "May"]), 1.5), Soft(Gazetteer("P", ["in", "Times"], must=False), 0.25)]
    costs = system(soft + binding).phrase_costs(["in", "New", "York", "Times", "May"])
    at = {tag: k for k, tag in enumerate(TAGS)}
    assert [costs[0, at[tag]] for tag in ("S-Q", "O", "B-Q", "S-P")] == [0, 1.5, 1.5, 1.75]
    assert not costs[1].any()  # York is of another phrase
    weights = {kind: system([Soft(Gazetteer(kind, ["May"]), 5.0), Soft(Gazetteer("P", ["May"]), 0.5)]) for kind in "PQ"}
    assert [weights["Q"].phrase_costs(["May"])[0, at[tag]] for tag in ("S-P", "S-Q", "O")] == [5, 0.5, 5.5]
    assert weights["P"].phrase_costs(["May"])[0, at["O"]] == 5.5
    assert system([Soft(Gazetteer("P", ["May"]), 1e9)]).phrase_costs(["May"])[0, at["O"]] == 100
    assert [costs[2, at[tag]] for tag in ("B-P", "O")] == [0, np.inf]
    assert [costs[4, at[tag]] for tag in ("O", "S-Q", "S-P")] == [1.5, np.inf, 1.5]


def times_broken(rule, tags):
    """Of a user's sequence in IOB2."""
    match rule:
        case NeverFollows(before, tag):
            return [*itertools.pairwise(tags)].count((before, tag))
        case OnlyFollows(tag, befores):
            return sum(t == tag and (i == 0 or tags[i - 1] not in befores) for i, t in enumerate(tags))
        case AtMostOnce(kind):
            return max(0, sum(t == f"B-{kind}" for t in tags) - 1)
    return int(not meant(rule, tags))


@pytest.mark.parametrize("binding", [[], [Starts(["O", "B-Q"]), AtMostOnce("Q")]])
def test_preferences_weigh_each_time_that_they_are_broken(binding):
    soft = [Soft(rule, 0.5 + k) for k, rule in enumerate([*RULES, NeverFollows("B-P", "B-Q")])]
    compiled = system(binding + soft)
    follow, start, end, tag = compiled.expanded()
    found = {}
    for path in itertools.product(range(len(tag)), repeat=3):
        cost = start[path[0]] + end[path[-1]] + sum(follow[a, b] for a, b in itertools.pairwise(path))
        if np.isfinite(cost):
            tags = tuple(TAGS[tag[s]] for s in path)
            assert tags not in found  # one path a sequence
            found[tags] = cost
    legal = {tags: convert(tags, "IOB2") for tags in sequences(system([]), 3)}
    assert set(found) == {tags for tags, own in legal.items() if all(meant(rule, own) for rule in binding)}
    for tags, cost in found.items():
        assert cost == pytest.approx(sum(one.weight * times_broken(one.rule, legal[tags]) for one in soft)), tags


def test_plain_tags():
    compiled = TagSystem.of([AtMostOnce("x")], ("x", "y"), {"x", "y"}, None, legal_transitions(("x", "y"), None))
    assert compiled.n_memories == 2
    follow, start, _, _ = compiled.expanded()
    assert np.isfinite(start).tolist() == [False, True, True, False]
    assert np.isinf(follow[2, 0])
    assert follow[2, 3] == 0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (NeverFollows("B-P", "B-R"), "'B-R'"),
        (AtMostOnce("R"), "a sentence: Unknown type 'R'"),
        (Starts("O"), "a list"),
        (Starts(["I-P"]), "No sentence meets this rule: sentences start with 'I-P'. Drop"),
        (
            [AtMostOnce("Q"), Starts(["O"]), NeverFollows("O", "B-P"), Ends(["O"]), Ends(["B-P", "I-P"])],
            "No sentence meets these rules together: sentences end with 'O'; sentences end with 'B-P' or 'I-P'. Drop or mend",
        ),
        (Gazetteer("P", ["", " "]), "The gazetteer of 'P' has no phrases: leave it out"),
        ("O", "enstruct.rules.tags"),
        (Soft(Excludes("B-P", "B-Q"), 1.0), "enstruct.rules.tags"),
        (Soft(AtMostOnce("R"), 1.0), "a sentence: Unknown type 'R'"),
        ([AtMostOnce("P")] * 6, "At most 5"),
    ],
)
def test_what_is_no_rule_is_refused(rule, message):
    with pytest.raises(ConfigError, match=message):
        system(rule)


def test_rules_of_which_no_sentence_is_left_are_named():
    """The fewest of them, against all sequences of up to five tokens."""
    rules = [
        Starts(["B-Q"]),
        Ends(["B-P", "I-P"]),
        OnlyFollows("B-P", ["O"]),
        OnlyFollows("O", ["O"]),
        NeverFollows("B-P", "B-Q"),
    ]
    rules += [AtMostOnce("Q"), OnlyFollows("I-Q", ["I-Q"])]

    def is_met(some):
        return any(
            all(meant(rule, tags) for rule in some) and is_legal(tags)
            for n in range(1, 6)
            for tags in itertools.product(tags_of_scheme(["P", "Q"], "IOB2"), repeat=n)
        )

    def is_legal(tags):
        return all(t[0] != "I" or (i > 0 and tags[i - 1][1:] == t[1:]) for i, t in enumerate(tags))

    with pytest.raises(ConfigError, match="No sentence meets these rules together") as error:
        system(rules)
    named = [rule for rule in rules if str(rule) in str(error.value)]
    assert len(named) == 3
    assert not is_met(named)
    assert all(is_met([other for other in named if other is not rule]) for rule in named)
    assert all(system(list(few)).is_possible for few in itertools.combinations(rules, 2))


def test_a_phrase_in_lists_that_contradict_each_other():
    """Of one phrase; of others that overlap it the longer one counts, and a preference contradicts nothing."""
    both = Gazetteer("P", ["Ada King", "Zorro"]), Gazetteer("Q", ["Rome", "Zorro"])
    with pytest.raises(ConfigError, match="The phrase 'Zorro' is in two gazetteers, 'P' by one and 'Q' by one: take it out"):
        system(both)
    with pytest.raises(ConfigError, match="'P' by one and never 'P' by one"):
        system([Gazetteer("P", ["Zorro"], must=False), both[0]])
    for fine in (
        [both[0], Soft(both[1], 1.0)],
        [both[0], Gazetteer("Q", ["King"])],
        [both[0], Gazetteer("Q", ["Zorro"], must=False)],
        [both[0], both[0]],
    ):
        system(fine)


def test_words():
    assert str(NeverFollows("O", "I-P")) == "'I-P' never follows 'O'"
    assert str(Gazetteer("P", ["a b"], must=False)) == "'a b' is never 'P'"
    assert str(Gazetteer("P", ["a b", "c", "d", "e", "f"])) == "'a b', 'c', 'd' and 2 more phrases are 'P'"


def test_the_longest_phrase_counts_of_all_lists():
    for rules in (
        [Gazetteer("P", ["New York"]), Gazetteer("Q", ["New York Times"])],
        [Gazetteer("Q", ["York Times"]), Gazetteer("P", ["York"])],
    ):
        costs = system(rules).phrase_costs(["the", "New", "York", "Times"])
        names = [{tag for tag, cost in zip(TAGS, row, strict=True) if not cost} for row in costs]
        assert names[3] == {"E-Q"}
        assert names[0] == set(TAGS)
    first = system([Gazetteer("P", ["York Times"]), Gazetteer("Q", ["New York"])]).phrase_costs(["New", "York", "Times"])
    assert [TAGS[k] for k in (~first[1].astype(bool)).nonzero()[0]] == ["E-Q"]  # of one length the first in the sentence


def test_a_list_of_plain_tags_is_of_its_tag_alone():
    tags = ("ADJ", "AUX", "NOUN", "X")
    compiled = TagSystem.of([Gazetteer("X", ["etc"], must=False)], tags, set(tags), None, legal_transitions(tags, None))
    assert np.isinf(compiled.phrase_costs(["etc"])).tolist() == [[False, False, False, True]]
