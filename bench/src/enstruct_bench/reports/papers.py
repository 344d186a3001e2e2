"""A page a paper: what came of it in five lines, and its tables, printed from their summaries.

Figures of a verdict stand in the tables below it; a test looks each of them up.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from enstruct_bench.reports.filled import printed_sections
from enstruct_bench.reports.reproduced import kept_summaries
from enstruct_bench.reports.summaries import FOLDER
from enstruct_bench.reproduce.table import LabelTable
from enstruct_bench.reproduce.tables import TABLES


class Paper(NamedTuple):
    """``tables``: how the names of its tables begin."""

    name: str
    title: str
    tables: str
    verdict: tuple[str, str, str, str, str]


PAPERS = (
    Paper(
        "spen",
        "SPEN (Belanger & McCallum, ICML 2016)",
        "spen-",
        (
            "Where labels exclude each other in blocks (Table 3) SPEN is ahead of a linear model by +12.17 [+10.86, +13.37] from "
            "1,500 rows (92.05 ±0.28; an MLP has 84.66 ±0.41) and by +13.34 [+12.97, +13.70] from 15,000, where an MLP is "
            "by +12.16 [+11.70, +12.61] (96.26 ±0.25; of another version, so that the two are not held against each other).",
            "On yeast (Table 2) it answers 79.96 ±0.74 percent of labels rightly, as published (80.00), beside 79.67 ±0.78 of "
            "the exact pairwise model. Deep mean field loses nothing to it (79.94), the linear program more than in the paper; "
            "settings were chosen by SPEN's validation scores.",
            "On bibtex (Table 1) it is behind cross-entropy networks under good decision rules (0.2.0: -2.74 [-3.66, -1.83]; by "
            "the runs of 0.1.0 level, -0.51 [-1.33, +0.33]), on delicious far behind (-9.18 [-9.65, -8.71]).",
            "ExtraTrees, which the paper does not have, are ahead of it on yeast (-0.88 [-1.19, -0.56]) and bibtex "
            "(0.2.0: -3.99 [-5.33, -2.64]), and far behind on the generated rows.",
            "The published protocol cannot be run: the paper states no learning rate, weight decay or width.",
        ),
    ),
    Paper(
        "seal",
        "SEAL (ICLR 2022 submission)",
        "seal-",
        (
            "With its settings and its faults, the rows of networks that answer themselves come out as published, as far as "
            "chance lets that be told; those answered by inference mostly do not ([in detail](../published.md)).",
            "The published figures are at 0.5. Under a tuned threshold cross-entropy is above every SEAL row, or level with it, "
            "on cal500 and spo_FUN; on bibtex and delicious the best of five SEAL rows is above it, in one run each.",
            "With fair budgets and decision rules `seal-nce` is ahead of cross-entropy on bibtex (+1.36 [+0.49, +2.28]), behind "
            "on delicious (-0.80 [-1.17, -0.43]), level on cal500 (-0.36 [-1.10, +0.29]) and spo_FUN (-0.04 [-0.43, +0.37]).",
            "ExtraTrees are ahead of cross-entropy on bibtex (+1.47 [+0.33, +2.64]), cal500 (+0.94 [+0.18, +1.69]) and spo_FUN "
            "(+1.31 [+0.86, +1.78]), behind on delicious (-1.07 [-1.46, -0.71]); the automatic classifier is ahead of both on "
            "bibtex and delicious.",
            "What was not run says so in its table, mostly with the command that would run it.",
        ),
    ),
    Paper(
        "implicit",
        "Implicit bilevel training of energies",
        "implicit-",
        (
            "On label sets implicit gradients show no gain: under good rules `implicit-cd` is level with cross-entropy networks "
            "on bibtex (+0.31 [-0.60, +1.18]), and one run is behind them on delicious (-0.76 [-1.01, -0.50]).",
            "At 0.5 it has 43.60 ±0.14 on bibtex (over four drawn splits 43.82 ±0.82) where 46.21 is published, about what other "
            "test rows alone make of it (2.5), and in one run 33.59 on delicious where 35.12 is.",
            "A toy with a nearly singular inner problem (Appendix D) behaves as derived: the alternating gradient is zero, "
            "conjugate gradients give the exact one, and short series fall short of it.",
            "Tag sequences, citation fields and horses: [tags](../tags.md) and [masks](../masks.md) say what came of them; "
            "their tables stand in the [results](../results.md).",
            "There is no code, and the paper states neither weights, rates, samples, steps nor seeds: nothing here is its own "
            "protocol.",
        ),
    ),
)


def paper_of(table: str) -> Paper | None:
    """The paper whose page a table stands on; None for those of the results page."""
    return next((paper for paper in PAPERS if table.startswith(paper.tables)), None)


def paper_page(paper: Paper, results: Path) -> str:
    """The whole page, from the summaries in RESULTS/summaries. DataError for one that is damaged."""
    names = [name for name in TABLES if name.startswith(paper.tables)]
    sections = [text for name in names for text in printed_sections(kept_summaries(name, results / FOLDER), _rows(name))]
    verdict = "\n".join(f"{number}. {line}" for number, line in enumerate(paper.verdict, 1))
    about = "Printed by `enstruct-bench report`; how rows and columns are to be read: [results](../results.md)."
    head = f"# {paper.title}\n\n{verdict}\n\n{about}\n\n## Its tables\n"
    return "\n".join([head, *sections])


def _rows(name: str) -> tuple[str, ...]:
    """Of a table, as it is declared."""
    table = TABLES[name]
    return tuple(table.methods()) if isinstance(table, LabelTable) else ()
