"""The section on cost: what an answer takes, how large the model is, what its training took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enstruct.report.blocks import counted, facts, paragraph, whole
from enstruct.report.formats import bytes_of, machine, numbers_in, seconds, size
from enstruct.report.page import Section
from enstruct.report.subject import Subject

ASKED = 1000


def cost_section(subject: Subject, answer: Callable[[int], Any], there: int, things: str) -> Section:
    """``answer(n)`` predicts the first n of what is there, ``things``; it is called twice, as the first call is no measure."""
    n = min(ASKED, there)
    answer(min(n, 32))
    begin = subject.clock()
    answer(n)
    took = subject.clock() - begin
    told = {
        f"to answer 1,000 {things}": seconds(took * ASKED / max(n, 1)),
        "a single one of many": seconds(took / max(n, 1)),
        "size on disk": size(bytes_of(subject.folder)),
        "numbers in its weights": whole(numbers_in(subject.folder)),
        **trained(subject.model),
    }
    said = "" if n >= ASKED else f" Measured on the {n} that there are, and scaled."
    return Section("cost", "Cost", [facts(told), paragraph(f"Measured here: {machine()}.{said}", quiet=True, small=True)])


def trained(model: Any) -> dict[str, str]:
    """Epochs and seconds of training, as far as the model has noted them."""
    model = getattr(model, "joint_", model)
    history = getattr(model, "history_", None)
    if history:
        told = {"trained for": counted(len(history), "epoch")}
        took = [record["seconds"] for record in history if isinstance(record.get("seconds"), (int, float))]
        return told | ({"in": seconds(float(sum(took)))} if took else {})
    if hasattr(model, "members_"):
        return {"trained for": counted(int(model.n_iter_), "epoch", "epochs of all that were tried")}
    if hasattr(model, "base_"):
        members = sum(len(one.models) for one in model.base_)
        return {"its base": counted(members, "model", "models, averaged")}
    return {}
