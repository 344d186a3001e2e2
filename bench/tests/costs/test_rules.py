"""What rules cost is measured on what it says, and printed."""

from enstruct.files import write_json
from enstruct_bench.costs.rules import of_labels, of_memories, of_tags, of_told, sentences, sets_of, tree_of
from enstruct_bench.reports.rules_cost import rules_cost_section


def test_times_of_small_tasks():
    assert of_tags(230, 6).keys() == {"greedy", "legal", "rules"}
    assert of_memories(30, 12).keys() == {"chain", "once"}
    assert of_labels(40, 310, 5).keys() == {"without", "hierarchy"}
    assert of_told(40, 2) > 0
    tree = tree_of(40)
    assert all((sets_of(tree, 20)[:, child] <= sets_of(tree, 20)[:, above]).all() for above, child in tree.edges)
    words, tags = sentences(3, 7, 0)
    assert [len(row) for row in (*words, *tags)] == [7] * 6


def test_the_section(tmp_path):
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    times = {"tags": {"greedy": 0.5, "legal": 0.6, "rules": 1.0}, "labels": {"without": 0.1, "hierarchy": 0.14}}
    times["memories"] = {"chain": 0.25, "once": 1.0}
    write_json(tmp_path / "benchmark-rules.json", times | {"told": 4.0, "commit": "c", "environment": env})
    section = rules_cost_section(tmp_path / "benchmark-rules.json")
    assert "half of them told, by chains |  | 4.0 |  |" in section
    assert "under four AtMostOnce | 0.250 | 1.000 | 4.00 |" in section
    assert "| 1,000 rows of 4,000 labels, a hierarchy | 0.100 | 0.140 | 1.40 |" in section
