"""Readers of tagged sentences, span schemes, vectors: good files, bad files, and what bad ones are told."""

import lzma
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enstruct.data.citations import read_citations, read_references, write_citations
from enstruct.data.conll import read_conll, write_conll
from enstruct.data.embeddings import read_clusters, read_vectors
from enstruct.data.sentences import Sentences, TagSequences, buckets, offsets_of
from enstruct.data.tag_schemes import (
    SCHEMES,
    Span,
    convert,
    find_scheme,
    find_spans,
    legal_transitions,
    tags_of_scheme,
    write_spans,
)
from enstruct.data.tagged import load_tagged, read_tagged, told_at_random
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError, ParseError


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_conll_columns(tmp_path):
    path = write(tmp_path / "a.conll", "-DOCSTART- -X- O O\n\nEU NNP B-NP I-ORG\nrejects VBZ B-VP O\n\n\nPeter NNP B-NP I-PER\n")
    assert read_conll(path) == ([["EU", "rejects"], ["Peter"]], [["I-ORG", "O"], ["I-PER"]])
    assert read_conll(path, columns=[1])[0] == [[("EU", "NNP"), ("rejects", "VBZ")], [("Peter", "NNP")]]


def test_tabs_keep_blanks_in_words_and_archives_open(tmp_path):
    path = tmp_path / "a.conll.xz"
    path.write_bytes(lzma.compress(b"New York\tN\nis\tV\n"))
    assert read_conll(path) == ([["New York", "is"]], [["N", "V"]])


def test_rare_blanks_are_parts_of_words(tmp_path):
    path = write(tmp_path / "a.conll", "10\u00a0000 N \n\u3000 X\r\n\nfoo Y\n")
    assert read_conll(path) == ([["10\u00a0000", "\u3000"], ["foo"]], [["N", "X"], ["Y"]])
    assert read_conll(write(path, "10\u00a0000\n"), labelled=False)[0] == [["10\u00a0000"]]


def test_notes_before_sentences_are_no_tokens(tmp_path):
    text = "# newdoc\n# sent_id = 3\na X\n# Y\n\n# Z\nb X\n"
    assert read_conll(write(tmp_path / "a.conll", text)) == ([["a", "#"], ["#", "b"]], [["X", "Y"], ["Z", "X"]])


@pytest.mark.parametrize(
    ("text", "arguments", "what"),
    [
        ("a X\nb\n", {}, r"line 2: 1 columns, but 2"),
        ("a\nb\n", {}, r"line 1: one column"),
        ("a N X\n", {"columns": [2]}, r"no column 2"),
        ("\n\n", {}, "no tokens"),
        ("M\u00fcller X\n".encode("latin-1"), {}, "not in UTF-8 .*save it as UTF-8"),
    ],
)
def test_bad_columns(tmp_path, text, arguments, what):
    path = tmp_path / "a.conll"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ParseError, match=what):
        read_conll(path, **arguments)


def test_unlabelled_columns_and_writing_them(tmp_path):
    path = write(tmp_path / "a.conll", "a\nb\n\nc\n")
    sentences, tags = read_conll(path, labelled=False)
    assert (sentences, tags) == ([["a", "b"], ["c"]], None)
    again = write(tmp_path / "b.conll", write_conll(sentences, [["X", "Y"], ["X"]]))
    assert read_conll(again) == (sentences, [["X", "Y"], ["X"]])


UNIVERSAL = """# sent_id = 1
1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\tIN\t_\t2\tcase\t_\t_
2\tel mar\tmar\tNOUN\tNN\tNumber=Sing\t0\troot\t_\t_
2.1\tva\tir\tVERB\t_\t_\t_\t_\t0:root\t_

# text = sí
1\tsí\tsí\tINTJ\tUH\t_\t0\troot\t_\tSpaceAfter=No

"""


def test_universal_columns(tmp_path):
    path = write(tmp_path / "es.conllu", UNIVERSAL)
    data = read_tagged(path)
    assert data.sentences == [["de", "el mar"], ["sí"]]
    assert data.tags == [["ADP", "NOUN"], ["INTJ"]]
    assert read_tagged(path, [2, 1]).sentences == [[("de", "IN", "de"), ("el mar", "NN", "mar")], [("sí", "UH", "sí")]]
    bare = write(tmp_path / "bare.conllu", UNIVERSAL.replace("INTJ", "_"))
    assert read_tagged(bare, labelled=False).sentences == data.sentences
    with pytest.raises(ParseError, match=r"bare.conllu, line 8: 'sí' has no UPOS tag"):
        read_tagged(bare)
    with pytest.raises(ParseError, match="CoNLL-U has ten columns with tabs between them, this line 4"):
        read_tagged(write(tmp_path / "short.conllu", "1 de de ADP\n".replace(" ", "\t")))
    with pytest.raises(ParseError, match="no column 8"):
        read_tagged(path, [8])
    spreadsheet = write(tmp_path / "bom.CONLLU", "\ufeff" + UNIVERSAL)
    assert read_tagged(spreadsheet).sentences == data.sentences
    with pytest.raises(ParseError, match=r"line 3: ' 1' is no number of a word"):
        read_tagged(write(tmp_path / "slip.conllu", UNIVERSAL.replace("\n1\tde", "\n 1\tde")))
    with pytest.raises(ParseError, match="'sí' has no UPOS tag"):
        read_tagged(write(tmp_path / "empty.conllu", UNIVERSAL.replace("INTJ", "")))


def test_citations(tmp_path):
    text = "<author> A. Cau. </author> <title> On it. </title> . <br> <date> 1992 </date>\n\n( <title> B </title>\n"
    path = write(tmp_path / "a.tagged.txt", text)
    words, tags = read_citations(path)
    assert words == [["A.", "Cau.", "On", "it.", ".", "1992"], ["(", "B"]]
    assert tags == [["author", "author", "title", "title", "title", "date"], ["title", "title"]]
    assert read_tagged(path).tags == tags
    assert read_references(path) == words
    again = write(tmp_path / "b.tagged", write_citations(words, tags))
    assert read_citations(again) == (words, tags)
    assert read_tagged(path, labelled=False).sentences == words


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<a> x </b>\n", r"line 1: </b> closes <a>"),
        ("<a> x <b> y </b> </a>\n", "opens inside"),
        ("<a> x\n", "not closed"),
        ("x </a>\n", "closes nothing"),
        ("x y\n", "no word of it"),
        ("\n", "no references"),
    ],
)
def test_bad_citations(tmp_path, text, what):
    with pytest.raises(ParseError, match=what):
        read_citations(write(tmp_path / "a.tagged", text))


def test_missing_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match=r"put it at sequences/conll2003"):
        load_tagged("conll2003", "train")
    with pytest.raises(ConfigError, match="test"):
        load_tagged("conll2003", "tset")
    with pytest.raises(DatasetNotFoundError, match="no tagged set of that name"):
        load_tagged("conll2004", "train")


def test_schemes_tell_themselves_apart():
    assert find_scheme({"O", "I-A"}, [["O", "I-A"]]) == "IOB1"
    assert find_scheme({"O", "B-A", "I-A"}, [["O", "B-A", "I-A"]]) == "IOB2"
    assert find_scheme({"O", "S-A"}) == "BIOES"
    assert find_scheme({"O", "B-A", "I-A"}, [["B-A", "I-A"]] * 9 + [["O", "I-A"]]) == "IOB2"  # one slip is not a scheme
    assert find_scheme({"O", "L-A", "B-A", "U-A"}) == "BILOU"
    assert find_scheme({"O", "L-A", "S-A"}) is None
    assert find_scheme({"N", "V"}) is None
    assert find_scheme({"O"}) is None


@st.composite
def sentences_of_spans(draw):
    length, spans, at = draw(st.integers(1, 10)), [], 0
    while at < length:
        end = draw(st.integers(at + 1, length))
        kind = draw(st.sampled_from(["A", "B", None]))
        if kind:
            spans.append(Span(kind, at, end))
        at = end
    return length, spans


@pytest.mark.parametrize("scheme", SCHEMES)
@given(given_spans=sentences_of_spans())
def test_every_scheme_spells_out_every_set_of_spans(scheme, given_spans):
    length, spans = given_spans
    tags = write_spans(spans, length, scheme)
    assert find_spans(tags) == spans
    assert convert(convert(tags, "BIOES"), scheme) == tags
    follow, begin, end = legal_transitions(names := tags_of_scheme({"A", "B"}, scheme), scheme)
    number = [names.index(tag) for tag in tags]
    assert begin[number[0]]
    assert end[number[-1]]
    assert all(follow[a, b] for a, b in pairwise(number))


def test_illegal_tags_are_read_as_the_standard_scorer_reads_them():
    assert find_spans(["I-A", "I-B", "O", "E-A"]) == [Span("A", 0, 1), Span("B", 1, 2), Span("A", 3, 4)]
    assert find_spans([]) == []
    follow, begin, end = legal_transitions(["O", "B-A", "E-A"], "BIOES")
    assert (begin[2], end[1], follow[1, 0], follow[1, 2]) == (False, False, False, True)
    with pytest.raises(DataError, match="overlaps"):
        write_spans([Span("A", 0, 2), Span("B", 1, 3)], 4, "IOB2")
    with pytest.raises(ConfigError, match="IOB1"):
        write_spans([], 1, "BMEWO")


def test_vectors(tmp_path):
    plain = read_vectors(write(tmp_path / "v.txt", "the 1 2\nnew york 3 4\n"))
    assert plain.words == ["the", "new york"]
    assert plain.vectors.tolist() == [[1, 2], [3, 4]]
    assert read_vectors(write(tmp_path / "u.txt", "a\x85b 1 2\nc 3 4\n")).words == ["a\x85b", "c"]
    assert read_vectors(write(tmp_path / "w.txt", "2 2\nthe 1 2\na 3 4\n")).words == ["the", "a"]
    with pytest.raises(ParseError, match="line 2"):
        read_vectors(write(tmp_path / "x.txt", "the 1 2\na x 4\n"))
    for text, what in (
        ("ada 1 2\nlondon 3\n", "2 numbers"),
        ("a\t1\t2\nb\t3\t4\n", "blanks"),
        ("a\nb\n", "blanks"),
        ("a 1 nan\n", "finite"),
    ):
        with pytest.raises(ParseError, match=what):
            read_vectors(write(tmp_path / "z.txt", text))
    with pytest.raises(ParseError, match="no vectors"):
        read_vectors(write(tmp_path / "y.txt", ""))


def test_clusters(tmp_path):
    assert read_clusters(write(tmp_path / "c.txt", "0011\tso\t9\n01\tthe\t3\n")) == {"so": "0011", "the": "01"}
    with pytest.raises(ParseError, match="line 1"):
        read_clusters(write(tmp_path / "d.txt", "so 0011\n"))


def test_sentences_are_indexed_by_sentence():
    s = Sentences(
        np.arange(12).reshape(6, 2), offsets_of([3, 0, 2, 1]), np.zeros(6, dtype=bool), np.zeros((1, 1), dtype=np.int64)
    )
    picked = s[np.array([3, 0])]
    assert picked.tokens[:, 0].tolist() == [10, 0, 2, 4]
    assert picked.lengths.tolist() == [1, 3]
    assert s[1:3].lengths.tolist() == [0, 2]
    t = TagSequences(np.arange(6), offsets_of([3, 0, 2, 1]), 6)
    assert [row.tolist() for row in t[np.array([2, 1])].split()] == [[3, 4], []]


def test_buckets_hold_like_lengths_and_few_tokens():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 50, 500)
    lengths[7] = 10_000
    cut = buckets(lengths, 16, rng.permutation(500), 400)
    assert sorted(np.concatenate(cut).tolist()) == list(range(500))
    assert all(len(batch) <= 16 for batch in cut)
    assert all(len(batch) * lengths[batch].max() <= 400 or len(batch) == 1 for batch in cut)
    assert np.mean([np.ptp(lengths[batch]) for batch in cut]) < 5


def test_the_real_sets(real_data):
    sizes = {
        "conll2003": [(14041, 203621), (3250, 51362), (3453, 46435)],
        "twitter_pos": [(1000, 14619), (327, 4823), (547, 7707)],
    }
    for name, expected in sizes.items():
        parts = [load_tagged(name, part) for part in ("train", "validation", "test")]
        assert [(len(part), part.n_tokens) for part in parts] == expected
    cora = load_tagged("cora", "full")
    assert (len(cora), cora.n_tokens, len({tag for row in cora.truth() for tag in row})) == (500, 11609, 13)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 2\nthe 1 2\na 3 4\n", "line 1: the header promises 3 words, the file has 2"),
        ("2 3\nthe 1 2\na 3 4\n", "line 1: the header promises 3 numbers a word, line 2 has 2"),
        ("2 1000000000000\nthe 1 2\na 3 4\n", "line 1: the header promises 1000000000000 numbers"),
        (f"{'9' * 5000} 2\nthe 1 2\na 3 4\n", r"line 1: the header promises 9+…9+ words"),
        (f"2 {'9' * 5000}\nthe 1 2\na 3 4\n", r"line 1: the header promises 9+…9+ numbers"),
        ("-2 2\nthe 1 2\na 3 4\n", "line 1: the header promises -2 words"),
        ("2 -2\nthe 1 2\na 3 4\n", "line 1: the header promises -2 numbers"),
        ("2 0\nthe 1 2\na 3 4\n", "line 1: the header promises 0 numbers"),
        ("the 1 1e400\n", "line 1: numbers that are not finite"),
        ("the 1 1e39\n", "line 1: numbers that are not finite in single precision"),
        ("the 1 1_0\n", "line 1: not a word and 2 numbers"),
        ("a" + " 1" * 1000 + "\nb\n", "line 2: not a word and 1000 numbers"),
    ],
)
def test_vectors_that_are_not_there(tmp_path, text, message):
    with pytest.raises(ParseError, match=message):
        read_vectors(write(tmp_path / "v.txt", text))


def test_words_are_there(tmp_path):
    with pytest.raises(ParseError, match=r"a\.conll, line 2: there is no word before the first tab"):
        read_conll(write(tmp_path / "a.conll", "a\tN\n\tV\n"))
    with pytest.raises(ParseError, match=r"line 3: there is no word before"):
        read_tagged(write(tmp_path / "a.conllu", UNIVERSAL.replace("\tde\tde", "\t\tde")))


def test_long_marks_are_cut_in_messages(tmp_path):
    for text in ("<{0}> x </b>\n", "x </{0}>\n", "<a> x <{0}> y\n", "<{0}> x\n"):
        with pytest.raises(ParseError, match=r"a\.tagged, line 1: .*x+…x+>") as said:
            read_citations(write(tmp_path / "a.tagged", text.format("x" * 10**5)))
        assert len(str(said.value)) <= 300


def test_shares_of_tokens_are_told_and_the_same_ones_each_time():
    tags = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"], []]
    told = told_at_random(tags, 0.5, 3)
    assert [sum(tag is not None for tag in row) for row in told] == [2, 1, 0]
    assert all(a in (None, b) for row, own in zip(told, tags, strict=True) for a, b in zip(row, own, strict=True))
    assert told == told_at_random(tags, 0.5, 3)
    assert told_at_random(tags, 0.0, 3) == [[None] * 4, [None] * 2, []]


def test_words_that_begin_with_a_number_sign_are_words(tmp_path):
    tweet = tmp_path / "tweet.conll"
    tweet.write_text("#text\tHASH\nis\tVERB\n\n# text = fun\n#id-card\tHASH\n\n#id = 3\nok\tADJ\n")
    sentences = read_conll(tweet)[0]
    assert [[*sentence] for sentence in sentences] == [["#text", "is"], ["#id-card"], ["ok"]]
    blanks = tmp_path / "blanks.conll"
    blanks.write_text("#text HASH\nis VERB\n")
    assert [[*sentence] for sentence in read_conll(blanks)[0]] == [["#text", "is"]]
