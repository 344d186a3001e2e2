"""The file of a comparison of joints: finished cells, and above them what they come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from enstruct.files import write_json
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.joint.summary import summarise


class JointFile(ResultsFile):
    """As its parent; once all cells are there :meth:`write_summary` puts what they come to above them."""

    @classmethod
    def opened(cls, path: Path, setting: dict[str, Any]) -> Self:
        """SaveError, DataError as :meth:`to_add_to`, which says the same in its parent's name."""
        file = cls.to_add_to(path, setting, {})
        assert isinstance(file, cls)
        return file

    def write_summary(self, reference: str) -> None:
        """Means, deviations, and differences to the reference, method less reference, each with its 95% interval."""
        self.write()
        content = json.loads(self.path.read_text(encoding="utf-8"))
        write_json(self.path, {"reference": reference, "summary": self.summary(reference), **content})

    def summary(self, reference: str) -> dict[str, Any]:
        return summarise(self.cells, reference)
