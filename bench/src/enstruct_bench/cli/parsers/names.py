"""Names joined by commas, as an option."""

from __future__ import annotations

from typing import Any

from enstruct.cli.options import Reader


def _joined(names: Any) -> str:
    """Names joined by commas, as they are typed, or a list of them, as YAML has it."""
    return ",".join(map(str, names)) if isinstance(names, list) else str(names)


joined = Reader("names", _joined)
