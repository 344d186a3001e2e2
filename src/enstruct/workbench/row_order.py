"""Which row comes next: as they stand, at random, or first those whose answers teach most, with rows drawn at random between.

What a row can teach a kind of output says (``Labelling.uncertainty``). A model is judged on rows drawn at random alone: a quarter
of all is set apart for that in a drawn order, and every fourth row comes from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container

import numpy as np
from numpy.typing import NDArray

EVERY = 4
"""One in so many rows is drawn at random."""
BLOCK = 500
"""Rows whose uncertainty is found at a time."""
CLAIMED = 600.0
"""Seconds for which a row that somebody was given is nobody else's."""
ORDERS = ("teaching", "random", "given")

Uncertainty = Callable[[NDArray[np.intp]], NDArray[np.float64] | None]


class RowOrder:
    """``order``: one of ``ORDERS``. Ranking goes on in a thread of its own from :meth:`rank` on; until a row is ranked, it
    comes as it stands."""

    def __init__(self, n_rows: int, order: str, seed: int = 0) -> None:
        self.n_rows, self.order = n_rows, order
        drawn = np.random.default_rng([seed, 11]).permutation(n_rows)
        apart = {"teaching": -(-n_rows // EVERY), "random": n_rows, "given": 0}[order]
        self._drawn = drawn[:apart]
        self.at_random = np.zeros(n_rows, dtype=bool)
        """(rows,) whether a row was set apart to judge by; all where none is chosen by what it teaches."""
        self.at_random[self._drawn] = True
        if order != "teaching":
            self.at_random[:] = True
        self._worth = np.full(n_rows, -np.inf)
        self._served = 0
        self._claims: dict[int, tuple[str, float]] = {}
        self._skipped: dict[str, set[int]] = {}
        self._lock = threading.Lock()
        self._round = 0
        self._thread: threading.Thread | None = None

    def next(self, by: str, finished: Container[int], after: int = -1) -> int | None:
        """A row for ``by`` that is not finished, and nobody else's just now; ``after``: of rows as they stand, one behind it.

        None where no row is left.
        """
        with self._lock:
            now = time.monotonic()
            self._claims = {row: claim for row, claim in self._claims.items() if now - claim[1] < CLAIMED}
            taken = {row for row, (who, _) in self._claims.items() if who != by}

            skipped = self._skipped.setdefault(by, set())
            if self.order == "given":
                skipped.clear()  # the next one is the one behind
            if after >= 0:
                skipped.add(after)

            def is_free(row: int) -> bool:
                return row not in finished and row not in taken and row not in skipped

            row = self._chosen(is_free, after)
            if row is None:  # those that were skipped come again
                skipped.intersection_update({after})
                row = self._chosen(is_free, after)
            if row is None and after >= 0 and after not in finished:
                row = after
            if row is None:  # what others were given, and may have left
                row = next((row for row in sorted(taken, key=lambda row: self._claims[row][1]) if row not in finished), None)
            if row is not None:
                self._claims[row] = (by, now)
                self._served += 1
            return row

    def claim(self, by: str, row: int) -> None:
        """``by`` looks at this row."""
        with self._lock:
            self._claims[row] = (by, time.monotonic())

    def _chosen(self, is_free: Callable[[int], bool], after: int) -> int | None:
        if self.order == "given":
            behind = (int(row) for row in range(after + 1, self.n_rows) if is_free(row))
            return next(behind, next((row for row in range(after + 1) if is_free(row)), None))
        if self.order == "random" or self._served % EVERY == EVERY - 1:
            for row in self._drawn:
                if is_free(int(row)):
                    return int(row)
        order = np.argsort(-self._worth, kind="stable")
        free = (int(row) for row in order if not self.at_random[row] and is_free(int(row)))
        return next(free, next((int(row) for row in self._drawn if is_free(int(row))), None))

    def rank(self, uncertainty: Uncertainty) -> threading.Thread:
        """Find what all rows can teach, a block at a time, in a thread that ends with the process or with the next call."""
        self.stop()
        mine = self._round

        def work() -> None:
            for start in range(0, self.n_rows, BLOCK):
                if self._round != mine:
                    return
                rows = np.arange(start, min(start + BLOCK, self.n_rows))
                worth = uncertainty(rows)
                with self._lock:
                    if self._round != mine or worth is None:
                        return
                    self._worth[rows] = worth
                time.sleep(0.01)  # answers come first

        self._thread = threading.Thread(target=work, name="ranking", daemon=True)
        self._thread.start()
        return self._thread

    def stop(self) -> None:
        """Rank no further, once the block that is ranked is done."""
        with self._lock:
            self._round += 1
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
