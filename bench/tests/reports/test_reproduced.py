"""Sections of the results page for the papers' tables."""

import json

import numpy as np
from bench.tests.small_table import SMALL

from enstruct.environment import environment
from enstruct.metrics import Counts
from enstruct_bench.comparison.compare import Compare
from enstruct_bench.comparison.provenance import FORMER_PROCESSOR
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.reports.reproduced import (
    command_section,
    drop_empty,
    kept_summaries,
    reproduced_head,
    reproduced_section,
    reproduced_table,
    summary_name,
    table_sections,
    versions_of,
)
from enstruct_bench.reports.summaries import origin_of
from enstruct_bench.reproduce import store as store_module
from enstruct_bench.reproduce.store import Key, Store
from enstruct_bench.reproduce.table import CommandTable, LabelTable
from enstruct_bench.reproduce.tables import TABLES


def test_the_page_says_what_was_reduced_why_there_is_one_protocol_and_where_rows_come_from(tmp_path):
    text = reproduced_section(TABLES["seal-2"], Store(tmp_path, "seal-2"))
    assert "seal-regression-s 9 x 5 to 2 x 5" in text
    assert "multilabel/expr_FUN" in text
    assert "Boomer-Datasets" in text  # eurlex-ev can be fetched
    for name in ("spen-1", "implicit-1"):
        table = TABLES[name]
        assert table.why_fair_only
        assert table.why_fair_only in reproduced_section(table, Store(tmp_path, name))


def test_a_changed_row_is_held_against_the_same_seeds_of_the_fair_table(tmp_path):
    rng = np.random.default_rng(0)
    store = Store(tmp_path / "reproduce", "seal-2")
    table = CommandTable("t", "T", "nowhere", {"compare-x": Compare("x")}, against={"compare-x": ("cal500", "cross-entropy")})
    setting = {"data": "cal500", "model": {}, "environment": environment()}
    changed = ResultsFile(tmp_path / "compare-x.json", setting, {})
    for seed in (0, 1, 2):
        rows = rng.random(30)
        if seed < 2:  # a seed that the reference lacks is left out
            store.add(
                Key("cal500", "fair", "cross-entropy", seed),
                Cell({}, dict.fromkeys(("chosen", "fixed"), Counts.of(rows))),
                {},
                environment(),
                None,
            )
        record = {"method": "dvn", "seed": seed}
        changed.run(
            "dvn",
            seed,
            lambda record=record, rows=rows: Cell(record, {"chosen": Counts.of(rows + 0.1), "fixed": Counts.of(rows - 0.1)}),
        )
    text = command_section(table, tmp_path)
    assert (
        "dvn so changed against cross-entropy as it is, 2 seeds, best rules: +10.00 [+10.00, +10.00]; "
        "at 0.5: -10.00 [-10.00, -10.00]" in text
    )


def test_the_section_names_what_is_lacking(tmp_path):
    """Rows with too few runs, differences of fewer pairs and of one run, energies that answer through the predictor's samples."""
    store = Store(tmp_path, "small")
    rng = np.random.default_rng(0)

    def add(method, seed, decision="threshold"):
        rows = rng.random(20)
        record = {"example_f1": {"fixed": 0.5, "threshold": 0.5, "chosen": 0.5}, "decision": decision, "test_rows": 20}
        store.add(
            Key("synthetic-90", "fair", method, seed),
            Cell(record, dict.fromkeys(("chosen", "fixed"), Counts.of(rows))),
            {},
            environment(),
            None,
        )

    for seed in (0, 1):
        add("binary-relevance", seed)
        add("extra-trees", seed)
        add("nce", seed, "bayes-risk")
    add("cross-entropy", 0)
    table = LabelTable(
        "small", "Small", "nowhere", ("synthetic-90",), {"nce": {}, "double": {}}, variants={"double": ("nce", {})}
    )
    lines = reproduced_section(table, store).splitlines()
    methods = "binary-relevance,extra-trees,cross-entropy,nce,double"
    command = f"enstruct-bench run small --protocol fair --datasets synthetic-90 --methods {methods} --seeds 3"
    assert f"Too few runs (fair): `{command}`." in lines
    assert "Fair split: 60/20/20, or three published parts; 20 rows tested." in lines
    row = next(line for line in lines if line.startswith("| nce"))
    against_relevance, against_trees, against_entropy, runs = row.rstrip(" |").split(" | ")[-4:]
    assert (against_relevance[-1], against_trees[-1], against_entropy[-6:], runs) == ("]", "]", " ¹ (1)", "2")
    assert any(line.startswith("The best rule of nce in 2 of 2 runs is minimum Bayes risk") for line in lines)


def test_a_data_set_stands_whole_where_it_was_run_first(tmp_path, monkeypatch):
    """Of two places, the one with more runs has the sets that none has; of what both have, the other has its rows alone."""
    table = LabelTable(
        "small",
        "Small",
        "nowhere",
        ("cal500", "genbase", "yeast", "bibtex"),
        {"nce": {}, "dvn": {}},
        protocols=("fair", "published"),
    )
    record = {"example_f1": dict.fromkeys(("fixed", "threshold", "chosen"), 0.5), "test_rows": 2, "decision": "fixed"}
    cell = Cell(record, {"chosen": Counts.of([0.4, 0.6])})
    made = {
        FORMER_PROCESSOR: [("cal500", "nce"), ("cal500", "dvn"), ("yeast", "nce")],
        "B": [("cal500", "nce"), ("genbase", "nce")],
    }
    for processor, keys in made.items():
        env = {**environment(), "processor": processor}
        monkeypatch.setattr(store_module, "environment", lambda env=env: env)
        for dataset, row in keys:
            Store(tmp_path, "small").add(Key(dataset, "fair", row, 0), cell, {}, env, None)
    first, second = table_sections(table, tmp_path)
    assert [line for line in first.splitlines() if line.startswith("#### ")] == ["#### cal500", "#### yeast", "#### bibtex"]
    assert [line for line in second.splitlines() if line.startswith("#### ")] == ["#### cal500", "#### genbase"]
    assert "Small (processor B)" in second
    assert "(processor" not in first
    again, whole = second.split("#### ")[1:]
    assert [line.split(" |")[0] for line in again.splitlines() if line.endswith("1 |")] == ["| nce"]
    assert "\n| cross-entropy |" not in again
    assert "Not run (published)" not in again
    assert "| dvn |" in whole
    for row in table.methods():  # all rows of one protocol, as the first place has those of the other
        Store(tmp_path, "small").add_all([Store(tmp_path, "small").line(Key("cal500", "fair", row, 0), cell, {}, env, None)])
    assert "Not run (published)" not in table_sections(table, tmp_path)[1].split("#### ")[1]
    assert "Not run (published)" in whole


def test_a_table_of_one_protocol_has_no_cells_of_the_other_to_run(tmp_path):
    text = reproduced_section(TABLES["seal-2-patience"], Store(tmp_path, "seal-2-patience"))
    rows = [line for line in text.splitlines() if line.startswith("| dvn-all-epochs")]
    assert rows == ["| dvn-all-epochs | – | not run | not run | – | – | – | – | – | – | 0 |"] * 2
    assert "(fair)" not in text
    fair = reproduced_section(TABLES["seal-figure-2a"], Store(tmp_path, "seal-figure-2a"))
    assert "| method" not in fair  # nothing was published, nothing is run: only the command is said
    assert "Not run (fair): `enstruct-bench run seal-figure-2a --protocol fair --datasets cal500`" in fair
    scores = np.array([0.5, 0.7])
    record = {"example_f1": dict.fromkeys(("fixed", "threshold", "chosen"), 0.6), "test_rows": 2, "decision": "fixed"}
    store = Store(tmp_path, "seal-figure-2a")
    key = Key("cal500", "fair", "seal-nce-alone", 0)
    store.add(key, Cell(record, {"chosen": Counts.of(scores)}), {"method__supervised_weight": 0}, environment(), None)
    text = reproduced_section(TABLES["seal-figure-2a"], store)
    assert "| seal-nce-alone | – | – | – | 60.00 | 60.00 | 60.00 | not run | not run | not run | 1 |" in text
    assert "| seal-margin-alone | – | – | – | not run | not run | not run | not run | not run | not run | 0 |" in text


def test_the_section_shows_published_and_measured_figures(finished_runs):
    text = reproduced_section(SMALL, Store(finished_runs, "small"))
    row = next(line for line in text.splitlines() if line.startswith("| seal-nce"))
    runs = [json.loads(line) for line in (finished_runs / "small.jsonl").read_text().splitlines()]
    mine = [100 * line["example_f1"]["chosen"] for line in runs if line["method"] == "seal-nce"]
    assert "| 50.00 | – | " in row
    assert f"{np.mean(mine):.2f} ±{np.std(mine, ddof=1):.2f}" in row
    assert row.rstrip(" |").endswith("| 2")
    empty = reproduced_section(TABLES["shapes"], Store(finished_runs, "shapes"))
    assert "Not run (fair): `enstruct-bench run shapes --protocol fair --datasets shape-bookmarks`" in empty


def test_the_page_holds_every_table(finished_runs):
    text = "\n".join([reproduced_head(), *(reproduced_table(table, finished_runs) for table in TABLES.values())])
    for name in TABLES:
        assert f"### {name}:" in text
    assert "not run" in text


def test_seeds_that_diverged_are_counted_beside_the_mean_of_the_others(copied_runs):
    store = Store(copied_runs, "small")
    for _ in range(2):  # a second process says it again
        store.add_diverged(Key("synthetic-90", "fair", "seal-nce", 2), {"diverged": "nan"}, {}, environment(), None)
    assert len((copied_runs / "small.jsonl").read_text().splitlines()) == 7
    text = reproduced_section(SMALL, Store(copied_runs, "small"))
    row = next(line for line in text.splitlines() if line.startswith("| seal-nce"))
    assert row.count("(1 diverged)") == 3


def test_each_version_of_the_library_has_a_section_of_its_own(tmp_path, monkeypatch):
    """A later one's is of what it ran, and stands before the first's."""
    record = {"example_f1": dict.fromkeys(("fixed", "threshold", "chosen"), 0.5), "test_rows": 2, "decision": "fixed"}
    table = LabelTable("small", "Small", "nowhere", ("cal500", "yeast"), {"nce": {}})
    assert versions_of(table, tmp_path) == ["0.1.0"]
    for version, dataset in (("0.1.0", "cal500"), ("0.1.0", "yeast"), ("0.2.0", "yeast")):
        env = {**environment(), "enstruct": version}
        monkeypatch.setattr(store_module, "environment", lambda env=env: env)
        store = Store(tmp_path, "small")
        store.add(Key(dataset, "fair", "nce", 0), Cell(record, {"chosen": Counts.of([0.4, 0.6])}), {}, env, None)
    assert versions_of(table, tmp_path) == ["0.1.0", "0.2.0"]
    former, later = (reproduced_table(table, tmp_path, version) for version in versions_of(table, tmp_path))
    assert [line for line in former.splitlines() if line.startswith("#### ")] == ["#### cal500", "#### yeast"]
    assert [line for line in later.splitlines() if line.startswith("#### ")] == ["#### yeast"]
    assert [origin_of([tmp_path / "small.jsonl"], version)["runs"] for version in ("", "0.1.0", "0.2.0")] == [3, 2, 1]
    names = [summary_name("small", version) for version in ("0.1.0", "0.2.0")]
    for name in (*names, "reproduce-smaller"):
        (tmp_path / f"{name}.json").touch()
    assert [path.stem for path in kept_summaries("small", tmp_path)] == names[::-1]
    for runs, stays in ((1, True), (0, False)):
        origin = {"runs": runs, "seeds": [], "commits": {}, "versions": {}, "machines": {}}
        (tmp_path / f"{names[0]}.json").write_text(json.dumps({"section": names[0], "blocks": ["x"], "from": origin}))
        drop_empty("small", tmp_path)
        assert (tmp_path / f"{names[0]}.json").is_file() == stays
