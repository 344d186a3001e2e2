"""The file of a comparison of joints: finished cells, and above them what they come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enstruct.files import write_json
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.joint.summary import summarise


class JointFile(ResultsFile):
    """As its parent, with a further field ``summary`` that :func:`write_summary` brings up to date."""

    def _write(self) -> None:
        super()._write()
        content = json.loads(self.path.read_text(encoding="utf-8"))
        write_json(self.path, {"summary": summarise(self.cells, self.reference), **content})

    reference: str = ""

    @classmethod
    def opened(cls, path: Path, setting: dict[str, Any], reference: str) -> JointFile:
        """SaveError, DataError as :meth:`to_add_to`."""
        file = cls.to_add_to(path, setting, {})
        assert isinstance(file, cls)
        file.reference = reference
        return file
