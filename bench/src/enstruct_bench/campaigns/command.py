"""What campaigns count, and the file of their tables, in which tables that are there already are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import track

from enstruct.cli.tables import say
from enstruct.environment import environment
from enstruct.errors import ConfigError
from enstruct.files import write_json
from enstruct.records import Shape, read_record
from enstruct.validation import check_whole
from enstruct_bench.campaigns.trial import ACCEPTED, DEFECT, VERDICTS
from enstruct_bench.comparison.provenance import present_commit

GROUP: Shape = {"tried": int, **dict.fromkeys(VERDICTS, int), "times?": float}
RUN: Shape = {
    "name": str,
    "groups": {str: GROUP},
    "defects": int,
    "seconds": float,
    "most_mib": float,
    "longest": float,
    "environment": dict,
    "commit": (str, None),
}
SHAPE: Shape = {"what": str, "runs": [RUN]}
FUZZED = ("readers", "sizes", "models", "parameters", "results")
LARGE = 10**7
"""Bytes."""
SHOWN = 40
"""Defects that are told one by one; all are counted."""
Row = Mapping[str, Any]


def fuzz(what: str, count: int, seed: int, first: int, workers: int, out: Path | None) -> int:
    """Defects among so many malformed inputs. ConfigError."""
    check_whole(1, count=count, workers=workers)
    if what not in FUZZED:
        raise ConfigError(f"There is nothing of that name to fuzz, {what!r}: one of {', '.join(FUZZED)}.")
    from enstruct_bench.campaigns.watch import watched  # only here: the trials bring all that is tried

    rows = partial(watched, what, range(first, first + count), seed, workers)
    return counted(f"fuzz {what}", f"{count} from {first}, seed {seed}", count, rows, out)


def kill(count: int, seed: int, kinds: Sequence[str], out: Path | None) -> int:
    """Defects among so many kills. ConfigError."""
    check_whole(1, count=count)
    from enstruct_bench.campaigns import kill as campaign

    _check(kinds, campaign.KINDS)
    return counted(
        "kill", _named(f"{count} kills, seed {seed}", kinds), count, partial(campaign.campaign, count, seed, kinds), out
    )


def race(count: int, seed: int, kinds: Sequence[str], out: Path | None) -> int:
    """Defects among so many turns. ConfigError."""
    check_whole(1, count=count)
    from enstruct_bench.campaigns import race as campaign

    _check(kinds, campaign.KINDS)
    return counted(
        "race", _named(f"{count} turns, seed {seed}", kinds), count, partial(campaign.campaign, count, seed, kinds), out
    )


def soak(predictions: int, fits: int, processes: int, out: Path | None) -> int:
    """Kinds and ways of which an answer was another, or memory grew. ConfigError."""
    check_whole(1, predictions=predictions, fits=fits, processes=processes)
    from enstruct_bench.campaigns import soak as campaign

    rows = partial(campaign.campaign, predictions, fits, processes)
    return counted("soak", f"{predictions} predictions, {fits} fits", 3 * len(campaign.KINDS) + 1, rows, out)


def _named(name: str, kinds: Sequence[str]) -> str:
    return f"{name}, {', '.join(kinds)} alone" if kinds else name


def _check(asked: Sequence[str], known: Iterable[str]) -> None:
    if odd := [name for name in asked if name not in {*known}]:
        raise ConfigError(f"There is no kind {odd[0]!r} of this campaign: {', '.join(known)}.")


def counted(what: str, name: str, count: int, rows: Callable[[], Iterable[Row]], out: Path | None) -> int:
    """How many defects; the table is said, and kept in ``out``, where one of that name and this commit is not made
    again."""
    kept = _kept(out, what) if out is not None else {}
    if name in kept and kept[name]["commit"] == present_commit():
        say(f"{name}: kept in {out}")
        return int(kept[name]["defects"])
    begin = time.monotonic()
    found = [*track(rows(), what, total=count, transient=True)] if what.startswith("fuzz") else [*_said(rows(), what, count)]
    run = {"name": name, **tallied(found), "seconds": time.monotonic() - begin, "commit": present_commit()}
    kept[name] = {**run, "environment": environment()}
    if out is not None:
        write_json(out, {"what": what, "runs": list(kept.values())})
    for line in told(run):
        say(line)
    return int(run["defects"])


def _said(rows: Iterable[Row], what: str, count: int) -> Iterator[Row]:
    """Each tenth is said, without a thread that draws: what comes after forks."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % max(1, count // 10) == 0:
            say(f"{what}: {number} of {count}, {row['group']}")


def _kept(out: Path, what: str) -> dict[str, dict[str, Any]]:
    if not out.exists():
        return {}
    record = read_record(out, SHAPE, "no file of a campaign's tables")
    if record["what"] != what:
        raise ConfigError(f"{out} holds tables of {record['what']}: name another.")
    return {row["name"]: row for row in record["runs"]}


def tallied(rows: Sequence[Row]) -> dict[str, Any]:
    """By group and verdict; the first defects one by one; the most memory and time that a trial took. "times": the most memory
    that reading a large file took, over the file's size."""
    groups: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: str(row["group"])):
        group = groups.setdefault(row["group"], {"tried": 0, **dict.fromkeys(VERDICTS, 0)})
        times = row.get("count", 1)
        group["tried"] += times
        group[row["verdict"]] += times
        if row["size"] >= LARGE and row["verdict"] == ACCEPTED:
            group["times"] = max(group.get("times", 0.0), row["peak"] / row["size"])
    defects = sorted((row for row in rows if row["verdict"] == DEFECT), key=lambda row: int(row["number"]))
    listed = [{name: row[name] for name in ("number", "group", "change", "why")} for row in defects[:SHOWN]]
    most = max((row["peak"] for row in rows), default=0) / 2**20
    longest = max((row["seconds"] for row in rows), default=0.0)
    return {"groups": groups, "defects": len(defects), "listed": listed, "most_mib": float(most), "longest": float(longest)}


def told(run: Row) -> list[str]:
    """A table as lines."""
    width = max((len(name) for name in run["groups"]), default=0)
    lines = [f"{'':{width}}  {'tried':>7} {'refused':>8} {'accepted':>9} {'defect':>7}"]
    for name, group in run["groups"].items():
        counts = f"{group['tried']:7d} {group['refused']:8d} {group['accepted']:9d} {group['defect']:7d}"
        lines.append(f"{name:{width}}  {counts}" + (f"  {group['times']:.1f} times its size" if "times" in group else ""))
    for row in run["listed"]:
        lines.append(f"DEFECT {row['number']} ({row['group']}; {row['change']}): {row['why']}")
    tried = sum(group["tried"] for group in run["groups"].values())
    lines.append(f"{tried} tried, {run['defects']} defects, {run['seconds']:.0f} s")
    return lines
