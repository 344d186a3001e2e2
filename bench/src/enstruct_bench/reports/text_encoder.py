"""A section of the results page: what an encoder of texts costs, from the file of :mod:`enstruct_bench.costs.text_encoder`."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

PRECISIONS = ("documents a second", "in bfloat16", "in float32", "one over the other")
TITLES = ("what", "encoder and model", "encoder alone", "one over the other")


def text_encoder_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    bare = content["documents_a_second"] / content["share_of_bare"]
    rate = (Quantity(content["documents_a_second"], form=".1f"), Quantity(bare, form=".1f"))
    rows: list[list[Value]] = [["features, documents a second", *rate, Quantity(content["share_of_bare"], form=".2f")]]
    for method, took in content["one_document"].items():
        ms = [Quantity(1000 * took[name], form=".2f") for name in ("seconds", "bare_seconds")]
        rows.append([f"one document, {method}, ms", *ms, Quantity(took["ratio"], form=".2f")])
    precisions: list[list[Value]] = [
        [what, *(Quantity(value, form=".1f") for value in found[:2]), Quantity(found[2], form=".2f")]
        for what, found in content.get("in_bfloat16", {}).items()
    ]
    lines = [
        f"## An encoder of texts (`{path.name}`)",
        "",
        f"An encoder of {content['parameters'] / 1e6:.1f} million parameters, texts of 20 to 200 words, timed in turns: "
        f"`TextEncoder.features` of {content['documents']} beside a loop over the bare network in batches of like lengths, "
        "and `predict_proba` of a loaded model beside the encoder's forward pass. " + where_it_ran(content["environment"]),
        "",
        *markdown_table(TITLES, rows),
        *(["", *markdown_table(PRECISIONS, precisions)] if precisions else []),
    ]
    return Text(lines)
