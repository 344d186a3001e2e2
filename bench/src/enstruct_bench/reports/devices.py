"""A section of the results page: every method on a processor and an accelerator, as `costs.devices` measured them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct_bench.comparison.quantity import Quantity, Value
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran

TITLES = ("task", "method", "processor updates/s", "accelerator updates/s", "times as fast", "in use %", "MiB")


def devices_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    measured: dict[tuple[str, str], dict[str, Any]] = {}
    for row in content["rows"]:
        if "updates_per_second" in row:
            measured.setdefault((row["task"], row["method"]), {})[row["device"]] = row
    rows: list[list[Value]] = []
    for (task, method), of in measured.items():
        cpu, cuda = (of.get(device, {}) for device in ("cpu", "cuda"))
        speeds = cpu.get("updates_per_second"), cuda.get("updates_per_second")
        times = Quantity(speeds[1] / speeds[0]) if all(speeds) else ""
        seen = [Quantity(cuda[name], form=".0f") if name in cuda else "" for name in ("use", "mib")]
        rows.append([task, method, *("" if speed is None else Quantity(speed, form=".0f") for speed in speeds), times, *seen])
    lines = [
        f"## Devices (`{path.name}`)",
        "",
        f"Updates of both networks a second of one whole fit of two epochs each, on generated data, one thread; the accelerator: "
        f"{', '.join(content['accelerators']) or 'none'}. In use: the mean share of the fit in which it computed. A fit of masks "
        "learns on the processor how far a marked pixel is heard, which takes most of so short a fit. Methods without a line "
        f"in a column were not run there. {where_it_ran(content['environment'])}",
        "",
        *markdown_table(TITLES, rows),
    ]
    return Text(lines)
