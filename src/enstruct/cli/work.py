"""The work of a command, once its options are known, and what becomes of the errors that it meets."""

from __future__ import annotations

import sys
from collections.abc import Callable

from jsonargparse import Namespace

from enstruct.cli.main import flush_or_drop
from enstruct.cli.progress import DownloadBar
from enstruct.cli.tables import refused
from enstruct.data.catalogue import show_downloads
from enstruct.errors import EnstructError


def carry_out(work: Callable[[Namespace], None], options: Namespace) -> int:
    """0 done, 2 bad input (one line on stderr), 141 nobody reads any more.

    KeyboardInterrupt is for the caller; its notes say what is kept.
    """
    show_downloads(DownloadBar)
    try:
        work(options)
        sys.stdout.flush()
    except BrokenPipeError:  # as under `| head`
        flush_or_drop()
        return 141
    except (EnstructError, OSError) as error:  # of other libraries' files the system's own word is the best there is
        return refused(str(error))
    except MemoryError as error:
        return refused(f"More memory is needed than there is ({error or 'no size is known'}): ask for less at a time.")
    except UnicodeEncodeError as error:
        return refused(f"What is to be printed cannot be written in {error.encoding}: set PYTHONIOENCODING=utf-8.")
    finally:
        show_downloads(None)
    return 0
