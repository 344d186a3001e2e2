"""One try of a campaign, and what is to be said of how it ended.

refused     the library said why not, in one of its own errors of at most 300 characters
accepted    it took the input, and what it made of it is sound, as the trial itself checks
defect      anything else: another exception, a longer message, unsound results, what is no data taken for some
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import NamedTuple

from enstruct.errors import MOST_CHARACTERS, EnstructError

REFUSED, ACCEPTED, DEFECT = VERDICTS = ("refused", "accepted", "defect")


class Trial(NamedTuple):
    """``act`` raises what the library raises, :class:`Unsound` for a result that should not be; ``must_refuse``: its input is no
    data by construction. ``group`` and ``change`` say what was tried, for the table."""

    group: str
    change: str
    act: Callable[[], object]
    must_refuse: bool = False
    size: int = 0
    """Bytes of the input."""


class Unsound(Exception):  # noqa: N818 - a finding, no error of the campaign
    """What was accepted is no sound result."""


def judged(trial: Trial, also: tuple[type[Exception], ...] = ()) -> tuple[str, str]:
    """(verdict, why). ``also``: exceptions of others that are an answer as well, as scikit-learn's contract has them."""
    own: tuple[type[Exception], ...] = (EnstructError, *also)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's: an overflow that nobody has thought of
            trial.act()
    except own as error:
        if len(str(error)) > MOST_CHARACTERS:
            return DEFECT, f"a message of {len(str(error))} characters: {str(error)[:200]}"
        if not str(error).strip():
            return DEFECT, f"a {type(error).__name__} without a message"
        return REFUSED, f"{type(error).__name__}: {error}"
    except Unsound as error:
        return DEFECT, f"accepted, and {error}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        return DEFECT, f"{type(error).__name__}: {str(error)[:300]} ({last.filename.rsplit('/', 3)[-1]}, line {last.lineno})"
    return (DEFECT, "accepted, though it is no data") if trial.must_refuse else (ACCEPTED, "")
