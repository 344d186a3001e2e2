"""Tag sequences: one of K tags at every token (:mod:`enstruct.spaces.simplex`, the places being the tokens).

y (batch, samples, time, tags)    truth (batch, time, tags)    mask (batch, time, 1): padding, and holes anywhere
"""

from __future__ import annotations

from typing import ClassVar

from enstruct.spaces.simplex import SimplexSpace


class TagSpace(SimplexSpace):
    """K tags a token. Costs count tokens."""

    outputs: ClassVar[str] = "tag sequences"
