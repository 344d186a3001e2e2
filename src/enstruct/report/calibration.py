"""The section on calibration: whether what has p = 0.7 is there seven times in ten."""

from __future__ import annotations

import numpy as np

from enstruct.report.blocks import beside, figure, paragraph, plain, table, whole
from enstruct.report.page import Section
from enstruct.report.reliability import BINS, Bins, reliability_diagram


def calibration_section(of: Bins, what: str, said: str) -> Section:
    """``what``: what has probabilities, as "label cells"; ``said``: what a probability is of."""
    gap, n = np.nan_to_num(of.means - of.shares) * of.counts, max(1, int(of.counts.sum()))
    error = float(np.abs(gap).sum() / n)
    too_sure = float(gap.sum() / n)
    leaning = "too high" if too_sure > 0 else "too low"
    rows = [
        [f"{b / BINS:.2f} – {(b + 1) / BINS:.2f}", whole(int(of.counts[b])), plain(of.means[b], 3), plain(of.shares[b], 3)]
        for b in range(BINS)
    ]
    blocks = [
        paragraph(
            f"{said} Over all {whole(n)} of them probabilities are {abs(100 * too_sure):.2f} points {leaning} on average; the "
            f"mean gap over the bins, weighed by their numbers, is {100 * error:.2f} points."
        ),
        beside(
            figure(
                reliability_diagram("reliability", of, what),
                "Points on the dotted diagonal are calibrated; the short lines show how far the others are from it. Points below "
                f"it: the model is too sure. Below: how many {what} each bin has, in powers of ten.",
            ),
            table("The figures.", ["probability", "number", "mean p", "share there"], rows),
        ),
    ]
    return Section("calibration", "Calibration", blocks)
