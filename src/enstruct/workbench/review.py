"""Given labels gone through, the least likely first, each with the reason in words.

A cell's quality is how likely its value is right, by p(value | x, the row's other labels), cross-fitted, and by how many labels
of these data were noted wrongly (:mod:`enstruct.estimators.label_issues`). The reason names what speaks most against it: of the
rows like this one, those whose features make the label about as likely, how many of those with the same value of another label
have the opposite value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from enstruct.errors import DataError, shown
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.estimators.label_issues import label_issues
from enstruct.files import write_json
from enstruct.records import Shape, read_record
from enstruct.workbench.journal import Journal, RowAnswers

MOST, SUSPECT = 2000, 0.5
"""Suspects that are listed at most, and the quality that they are below, where nobody has said how many there are to be."""
ALIKE = 300
"""Rows like this one, at most, and at most a quarter of all."""
LEAST = 10
"""Of those with the same value of another label, so that its share counts."""
Z = 1.96
"""Of the lower end of a share (Wilson), by which reasons are compared."""
SUSPECTS: Shape = {
    "content": str,
    "settings": {str: str},
    "corrected": str,
    "suspects": [{"row": int, "label": str, "given": bool, "quality": float, "alone": float, "reason": str}],
}


class Suspect(NamedTuple):
    """``given``: its value; ``quality``: how likely that is right, beside the other labels, ``alone``: by the features alone."""

    row: int
    label: str
    given: bool
    quality: float
    alone: float
    reason: str


class Review:
    """``Y`` (rows, labels) of 0, 1 and NaN as given; ``suspects``: the least likely first."""

    def __init__(self, names: Sequence[str], Y: NDArray[np.float64], suspects: Sequence[Suspect]) -> None:
        self.names, self.Y, self.suspects = names, Y, list(suspects)

    @classmethod
    def of(cls, model: JointMultiLabelClassifier, names: Sequence[str], Y: NDArray[np.float64], top: int | None = None) -> Self:
        """By a model that was fitted on just these rows. ``top``: how many, None for those that the model holds for wrong."""
        quality = label_issues(model, Y).quality
        flat = quality.ravel()
        most = min(MOST, int((flat < SUSPECT).sum())) if top is None else min(top, int((~np.isnan(flat)).sum()))
        order = np.argsort(flat, kind="stable")[:most]
        p = model.fitted_on_.marginals(model.constants_)
        suspects = []
        for row, label in zip(*np.divmod(order, len(names)), strict=True):
            given = bool(Y[row, label])
            alone = float(p[row, label] if given else 1 - p[row, label])
            reason = _reason(names, Y, p, int(row), int(label), alone)
            suspects.append(Suspect(int(row), names[label], given, float(f"{quality[row, label]:.6g}"), round(alone, 6), reason))
        return cls(names, Y, suspects)

    @classmethod
    def read(cls, path: Path, names: Sequence[str], Y: NDArray[np.float64], content: str, settings: Mapping[str, str]) -> Self:
        """What :meth:`save` wrote. DataError for a damaged file, and for one about other data, or found by other settings."""
        record = read_record(path, SUSPECTS, "no list of suspects")
        if record["content"] != content:
            raise DataError(f"{path} lists suspects of other data: move it away, or name another --log.")
        if odd := next((name for name, value in settings.items() if record["settings"].get(name, "None") != value), None):
            was, now = record["settings"].get(odd), settings[odd]
            raise DataError(f"{path} lists suspects found with --{odd} {was}, not {now}: move it away, or name another --log.")
        suspects = [Suspect(**{name: one[name] for name in Suspect._fields}) for one in record["suspects"]]
        for one in suspects:
            if not (0 <= one.row < len(Y) and one.label in names and 0 <= one.quality <= 1 and 0 <= one.alone <= 1):
                raise DataError(
                    f"{path} lists {shown(one.label, 40)} of row {one.row}, which is no cell of these data: move it away."
                )
        return cls(names, Y, suspects)

    def save(self, path: Path, content: str, settings: Mapping[str, str], corrected: Path) -> None:
        """With how they were found, and where the corrected data will be. SaveError."""
        about = {"content": content, "settings": dict(settings), "corrected": str(corrected.resolve())}
        write_json(path, {**about, "suspects": [one._asdict() for one in self.suspects]})

    @staticmethod
    def writes(path: Path, corrected: Path) -> bool:
        """Whether the review whose suspects are listed in ``path`` writes its corrected data to ``corrected``."""
        try:
            return bool(read_record(path, SUSPECTS, "no list of suspects")["corrected"] == str(corrected.resolve()))
        except DataError:
            return False

    def given(self, row: int) -> dict[str, bool]:
        """The labels that are given of a row."""
        return {name: bool(value) for name, value in zip(self.names, self.Y[row], strict=True) if not np.isnan(value)}

    def listed(self, journal: Journal) -> list[dict[str, Any]]:
        """With the answer to each, None while there is none."""
        rows, nothing = journal.snapshot(), RowAnswers()
        out = []
        for one in self.suspects:
            answers = rows.get(one.row, nothing)
            out.append({**one._asdict(), "answer": answers.cells.get(one.label), "version": answers.version})
        return out

    def counts(self, journal: Journal) -> dict[str, int]:
        """How many are answered, and how many given values were changed, these among them or not."""
        answered = sum(one["answer"] is not None for one in self.listed(journal))
        number = {name: k for k, name in enumerate(self.names)}
        changed = sum(
            int(value is not None and float(value) != self.Y[row, number[name]])
            for row, answers in journal.snapshot().items()
            for name, value in answers.cells.items()
        )
        return {"suspects": len(self.suspects), "answered": answered, "changed": changed}


def _reason(names: Sequence[str], Y: NDArray[np.float64], p: NDArray[np.float64], row: int, label: int, alone: float) -> str:
    """A sentence or two."""
    given = Y[row, label]
    here = "there" if given else "not there"
    sentences = []
    if (found := _fellow(Y, p, row, label)) is not None:
        fellow, opposite, of = found
        share = f"{100 * opposite / of:.0f}% of rows like this ({opposite} of {of})"
        name, other = names[label], names[fellow]
        if Y[row, fellow] and not given:
            sentences.append(f"Goes with {other} in {share}; {other} is there, {name} is not.")
        elif Y[row, fellow]:
            sentences.append(f"Is missing beside {other} in {share}; {other} is there, and so is {name}.")
        elif given:
            sentences.append(f"Is missing without {other} in {share}; {other} is not there, {name} is.")
        else:
            sentences.append(f"Is there without {other} in {share}; neither {other} nor {name} is there.")
    if alone < 0.5:
        sentences.append(f"By the features alone it would be {'not there' if given else 'there'} with {100 * (1 - alone):.0f}%.")
    return " ".join(sentences) or f"Few rows like this have it {here} beside these other labels."


def _fellow(Y: NDArray[np.float64], p: NDArray[np.float64], row: int, label: int) -> tuple[int, int, int] | None:
    """(other label, rows with the opposite value, rows), of the one that speaks most against the value that is given; None where
    none does."""
    known = np.flatnonzero(~np.isnan(Y[:, label]) & (np.arange(len(Y)) != row))
    alike = known[np.argsort(np.abs(p[known, label] - p[row, label]), kind="stable")[: max(LEAST, min(ALIKE, len(known) // 4))]]
    if not len(alike):
        return None
    opposite = Y[alike, label] != Y[row, label]
    same = (Y[alike] == Y[row]) & ~np.isnan(Y[row])  # (alike, labels)
    same[:, label] = False
    of, against = same.sum(0), (same & opposite[:, None]).sum(0)
    lower = _lower(against, of)
    best = int(lower.argmax())
    if lower[best] <= max(0.5, opposite.mean()):
        return None
    return best, int(against[best]), int(of[best])


def _lower(k: NDArray[np.intp], n: NDArray[np.intp]) -> NDArray[np.float64]:
    """Wilson's lower end of the share k / n; -1 of fewer than LEAST."""
    n = np.asarray(n, dtype=np.float64)
    few = n < LEAST
    m = np.where(few, 1.0, n)
    share = np.where(few, 0.0, k / m)
    centre = share + Z**2 / (2 * m)
    spread = Z * np.sqrt(share * (1 - share) / m + Z**2 / (4 * m**2))
    return np.where(few, -1.0, (centre - spread) / (1 + Z**2 / m))
