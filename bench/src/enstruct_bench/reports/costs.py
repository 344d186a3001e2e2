"""What everything costs, as lines of one table, from the files that the benchmarks leave (`enstruct-bench costs --measure`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.comparison.whereabouts import Where, whereabouts
from enstruct_bench.costs.measuring import PRODUCT
from enstruct_bench.reports.markdown import Text, markdown_table

TITLES = ("what", "ms", "times faster", "GFLOP", "MiB", "of the product rate")
Line = tuple[Value, ...]
ELSEWHERE = ("bilevel", "conditionals", "peers")
"""Files that have sections of their own on the page."""
PUBLISHED_EPOCH = {
    "cross-entropy": 22.67,
    "spen": 28.04,
    "dvn": 32.12,
    "nce": 13.97,
    "seal-margin": 212.94,
    "seal-regression": 27.78,
    "seal-regression-s": 179.97,
    "seal-nce": 131.73,
    "seal-ranking": 218.37,
}
"""Seconds on bibtex in SEAL's Table 13: other machines, other settings, more updates a batch."""
Content = dict[str, Any]


def costs_section(folder: Path) -> str:
    """For each version and machine that files come from."""
    contents = {name: content for name, content in _contents(folder).items() if name not in ELSEWHERE}
    if not contents:
        return ""
    parts = [
        "## Costs",
        "",
        "`enstruct-bench costs --measure` on an idle machine, one thread. As published: dense inputs and samples, the x-network "
        "at every call, gradients that nobody uses (`enstruct_bench.costs.as_published`). GFLOP: of the dense products made, "
        "counted by torch; the gathered sums of sparse rows and samples come on top. MiB: peak above what the process held "
        "before. Of the product "
        "rate: GFLOP a second over that of a plain product of two matrices on this machine.",
        "",
    ]
    for where in dict.fromkeys(measured_in(content) for content in contents.values()):
        env = next(content["environment"] for content in contents.values() if measured_in(content) == where)
        parts += [f"torch {env['torch']}, {env.get('processor', env['machine'])}, {env['threads']} of {env['cores']} cores:", ""]
        parts += markdown_table(TITLES, lines(folder, where, left_out=ELSEWHERE))
    if "methods" in contents:
        parts += _parameters(contents["methods"])
    return Text(parts)


def measured_in(content: Content) -> Where:
    """What seconds depend on, beside what figures do: the processor, and how much of it."""
    env = content["environment"]
    return (*whereabouts(env), *(str(env.get(name)) for name in ("processor", "cores", "threads")))


def lines(folder: Path, where: Where, left_out: tuple[str, ...] = ()) -> list[Line]:
    """Of the files that were measured there."""
    measured: list[Line] = []
    for name, content in _contents(folder).items():
        if name not in left_out and measured_in(content) == where:
            measured += READERS[name](content)
    return measured


def elsewhere(folder: Path, where: Where) -> list[Path]:
    """Files that were not."""
    contents = _contents(folder)
    return [_path(folder, name) for name, content in contents.items() if measured_in(content) != where]


def _path(folder: Path, name: str) -> Path:
    return folder / f"benchmark-{name}.json"


def _contents(folder: Path) -> dict[str, Content]:
    there = [name for name in READERS if _path(folder, name).is_file()]
    return {name: json.loads(_path(folder, name).read_text(encoding="utf-8")) for name in there}


def _line(
    what: str,
    seconds: float | None = None,
    times: float | None = None,
    gflop: float | None = None,
    mib: float | None = None,
    share: float | None = None,
) -> Line:
    return (
        what,
        "" if seconds is None else Quantity(1e3 * seconds, form=".3g" if seconds < 0.9995 else ",.0f"),
        "" if times is None else Quantity(times),
        "" if gflop is None else Quantity(gflop),
        "" if mib is None else Quantity(mib, form=",.0f"),
        "" if share is None else Quantity(100 * share, form=".0f", note="%"),
    )


def _growth(content: Content) -> Iterator[Line]:
    """Each of our lines, then the published way's of the same shape."""
    rate, product = content["matmul_gflops"], 2 * PRODUCT**3 / 1e9
    yield _line(f"product of two matrices of {PRODUCT:,} x {PRODUCT:,}", product / rate, None, product, None, 1.0)

    def shape(line: Content) -> str:
        return f"growing {line['changed']}: {line['labels']:,} labels, {line['rows']} rows, {line['samples']} samples"

    theirs = {shape(line): line["seconds"] for line in content["lines"] if line["way"] != "ours"}
    for line in content["lines"]:
        other = theirs.get(shape(line)) if line["way"] == "ours" else None
        times = None if other is None else other / line["seconds"]
        share = _share(content, line["seconds"], line["gflop"])
        what = f"step of seal-nce, {shape(line)}, {line['way']}"
        yield _line(what, line["seconds"], times, line["gflop"], line["peak_mib"], share)


def _step(content: Content) -> Iterator[Line]:
    for row in content["rows"]:
        for what, step, products in (
            ("training step of seal-nce", "step", "gflop"),
            ("inference pass", "inference", "inference_gflop"),
        ):
            for who, side, times in (("ours", "ours", row[f"{step}_ratio"]), ("as published", "published", None)):
                seconds, gflop = row[f"{side}_{step}"], row.get(f"{side}_{products}")
                share = _share(content, seconds, gflop)
                yield _line(f"{what}, {row['shape']}'s shape, {row['batch']} rows, {who}", seconds, times, gflop, None, share)


def _share(content: Content, seconds: float, gflop: float | None) -> float | None:
    """Of the product rate; None in files from before it was measured there."""
    rate = content.get("matmul_gflops")
    return None if rate is None or gflop is None else float(gflop / seconds / rate)


def _inference(content: Content) -> Iterator[Line]:
    for row in content["inference"]:
        for who, key, times in (("ours", "ours_20", row["ratio_20"]), ("as published", "published_20", None)):
            gflop = row.get(f"{key}_gflop")
            what = f"20 steps of inference, batch {row['batch']}, {who}"
            yield _line(what, row[key], times, gflop, None, _share(content, row[key], gflop))
        what = f"inference to convergence, batch {row['batch']}, ours against 100 steps"
        yield _line(what, row["ours_to_convergence"], row["ratio_to_convergence"])
    for row in content["refinement"]:
        for features in ("shared", "separate"):
            what = f"prediction of 1,024 rows refined by {row['steps']} steps, {features} features, against a forward pass"
            yield _line(what, row.get(f"{features}_seconds"), 1 / row[features], row.get(f"{features}_gflop"))
    for row in content["labels"]:
        yield _line(f"20 steps of inference, batch 128, {row['labels']:,} labels", row["seconds"])


def _bilevel(content: Content) -> Iterator[Line]:
    for row in content["rows"]:
        gflop, what = row.get("gflop"), f"step of {row['method']}, {row['coupling']}, against alternating"
        yield _line(what, row["step"], 1 / row["times_alternating"], gflop, None, _share(content, row["step"], gflop))


def _decoding(content: Content) -> Iterator[Line]:
    for row in content["rows"]:
        what = f"{row['rule']} decoding of {row['rows']} rows, {row['shape']}'s shape, against the formula"
        yield _line(what, row["ours"], row["formula"] / row["ours"])


def _tagging(content: Content) -> Iterator[Line]:
    for name, rate in content["tokens_per_second"].items():
        yield _line(f"tagging of 1,000 tokens, {name}", 1000 / rate)
    chain = content["chain_energy"]["seconds"]
    ours, loop = chain["product over all tokens"], chain["loop over tokens"]
    yield _line("chain energy, product over all tokens, against a loop", ours, loop / ours)
    viterbi = content["viterbi"]
    times = viterbi["pytorch-crf"] / viterbi["ours"] if "pytorch-crf" in viterbi else None
    what = " x ".join(map(str, viterbi["shape"]))
    yield _line(f"Viterbi, {what}, ours, against pytorch-crf (same paths)", viterbi["ours"], times)


def _methods(content: Content) -> Iterator[Line]:
    for row in content["seconds"]:
        theirs = PUBLISHED_EPOCH.get(row["method"])
        published = "" if theirs is None else f" (published, elsewhere: {theirs:.1f} s)"
        yield _line(f"an epoch of {row['method']}, {content['rows']:,} rows of bibtex's shape{published}", row["epoch"])
    for row in content["seconds"]:
        yield _line(f"prediction of {content['test_rows']:,} rows by {row['method']}, bibtex's shape", row["predict"])


def _conditionals(content: Content) -> Iterator[Line]:
    for row in content["rows"]:
        exact = "enumerated" if row["sampled"] else "mean field"
        how = f"{row['sampled']:.0f} labels sampled, {row['sweeps']:.0f} sweeps" if row["sweeps"] else exact
        what = f"what 1,000 rows of {row['data']} have besides the half of {row['labels']:,} labels told ({how})"
        yield _line(what, row["answer"], None, row["gflop"], None, _share(content, row["answer"], row["gflop"]))
        yield _line(f"training the energy of {row['data']}, {row['rows']:,} rows ({row['energy']})", row["training"])


def _peers(content: Content) -> Iterator[Line]:
    for row in content["rows"]:
        if "seconds" in row:
            yield _line(f"fit of {row['data']}, whole process: {row['side']}", row["seconds"], None, None, row["mib"])


def _parameters(content: Content) -> list[str]:
    rows = [
        [row["data"], *(Quantity(n, form=",.0f") for n in (row["predictor"], row["energy"], *row["published"]))]
        for row in content["parameters"]
    ]
    titles = ["data", "predictor", "energy", "published predictor", "published energy"]
    return [
        "Parameters under the published settings of SEAL-NCE, without a bias for each label (SEAL, Table 11). The published "
        "counts are of energies with 200 measurements; those settings have 400 on cal500 and 300 on eurlex-ev:",
        "",
        *markdown_table(titles, rows),
    ]


READERS: dict[str, Callable[[Content], Iterator[Line]]] = {
    "growth": _growth,
    "step": _step,
    "inference": _inference,
    "bilevel": _bilevel,
    "methods": _methods,
    "decoding": _decoding,
    "tagging": _tagging,
    "conditionals": _conditionals,
    "peers": _peers,
}
"""Name of a file -> its lines."""
