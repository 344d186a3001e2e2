"""Sections of the results page for segmenters: files of ``enstruct-bench masks compare``."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct.estimators import EnergySegmenter
from enstruct_bench.comparison.masks import MASK_CELLS, PERCENTS, formatted_mask_row, mask_titles
from enstruct_bench.comparison.ratios import summarise_ratios
from enstruct_bench.comparison.summary import spread
from enstruct_bench.reports.markdown import markdown_table, set_for_all, where_it_ran
from enstruct_bench.reports.tagging import cells_of, differences

PUBLISHED = {
    "weizmann32": "Published, mean IoU over images: DVN 83.9 (36 crops of 24x24, Gygli et al. 2017), cGLOW 81.2, "
    "ALEN 85.7, implicit CD 89.4 (whole 32x32 images; no code is public). Their networks are wider, their budgets up to a "
    "thousand epochs."
}


def mask_section(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    setting, cells = content["setting"], cells_of(path, content, MASK_CELLS)
    rows = summarise_ratios(cells, percents=PERCENTS)
    sizes = ", ".join(f"{name} {n}" for name, n in setting["images"].items())
    where = where_it_ran(setting["environment"]) + set_for_all(setting["model"], EnergySegmenter().get_params(deep=False))
    crop = setting["model"]["crop"]
    protocol = "whole images" if crop is None else f"random {crop}x{crop} crops in training, the mean of 36 crops at test"
    duplicates = ", ".join(setting["duplicates"]) or "none"
    lines = [
        f"## {setting['data']}: masks (`{path.name}`)",
        "",
        f"{spread(cells)} seeds; images: {sizes}; {protocol}. Test images with a near-duplicate among the training "
        f"or validation images: {duplicates}. {PUBLISHED.get(setting['data'], '')} {where}",
        "",
        *markdown_table(mask_titles(rows[0]["metric"]), [formatted_mask_row(row) for row in rows]),
        *differences(cells),
    ]
    return "\n".join(lines)
