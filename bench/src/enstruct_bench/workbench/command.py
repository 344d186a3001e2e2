"""What ``enstruct-bench workbench`` measures, and the file of its figures, in which rows that are there already are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.files import write_json
from enstruct.records import Shape, read_record
from enstruct_bench.comparison.provenance import present_commit

SHAPE: Shape = {"what": str, "runs": [dict]}
DATA = ("yeast", "cal500", "bibtex")


def measure(
    what: str,
    data: str | None,
    seeds: int,
    base: str,
    minutes: float,
    answers: int,
    kills: int,
    labels: str,
    rows: int,
    out: Path,
) -> list[dict[str, Any]]:
    """Rows of figures, each said as it comes and kept in ``out``. ConfigError."""
    if what not in WHAT:
        raise ConfigError(f"There is no workbench {what!r}: one of {', '.join(WHAT)}.")
    if what == "tour":
        from enstruct_bench.workbench.tour import photograph

        for path in photograph(out):
            say(f"{path}, {path.stat().st_size // 1024} kB")
        return []
    sets = DATA if data is None else tuple(one.strip() for one in data.split(","))
    asked: dict[str, Callable[[], dict[str, Any]]] = {}
    if what in ("clicks", "teaching"):
        from enstruct_bench.workbench import clicks, teaching

        of = clicks.measured if what == "clicks" else teaching.measured
        for name in sets:
            for seed in range(seeds):
                asked[f"{name} {seed} {base}"] = lambda n=name, s=seed: of(n, s, base, minutes)  # type: ignore[misc]
    elif what == "waiting":
        from enstruct_bench.workbench import waiting

        for number in labels.split(","):
            asked[f"{number} labels"] = lambda n=int(number): waiting.answer_times(n)  # type: ignore[misc]
        asked[f"{rows} rows"] = lambda: waiting.first_page(rows)
    else:
        from enstruct_bench.workbench import kills as campaigns

        for seed in range(seeds):
            asked[f"{answers} answers, {kills} kills, seed {seed}"] = lambda s=seed: campaigns.campaign(answers, kills, s)  # type: ignore[misc]
    kept = _kept(out, what)
    for name, make in asked.items():
        if name in kept:
            say(f"{name}: kept in {out}")
            continue
        kept[name] = {"name": name, **make(), "commit": present_commit(), "environment": environment()}
        write_json(out, {"what": what, "runs": list(kept.values())})
        say(f"{name}: {_said(kept[name])}")
    return [kept[name] for name in asked]


def _kept(out: Path, what: str) -> dict[str, dict[str, Any]]:
    if not out.exists():
        return {}
    record = read_record(out, SHAPE, "no file of the workbench's figures")
    if record["what"] != what:
        raise ConfigError(f"{out} holds figures of {record['what']}: name another.")
    return {row["name"]: row for row in record["runs"]}


def _said(row: Mapping[str, Any]) -> str:
    parts = []
    for name, value in row.items():
        if name in ("name", "environment", "commit"):
            continue
        if isinstance(value, dict):
            inner = {key: sum(each) / len(each) if isinstance(each, list) else each for key, each in value.items()}
            parts.append(
                f"{name} "
                + ", ".join(f"{key} {each:.3g}" if isinstance(each, float) else f"{key} {each}" for key, each in inner.items())
            )
        else:
            parts.append(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}")
    return "; ".join(parts)


WHAT = ("clicks", "waiting", "kills", "teaching", "tour")
