"""The cells of a comparison as they are made: kept at once where there is a file, and none lost because another diverges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from enstruct.errors import DivergenceError
from enstruct_bench.comparison.results_file import Cell, ResultsFile


class Cells:
    """``cells``: (method, seed) -> cell, those of the file ``store`` from the beginning.

    ``say``: who is told what diverged; ``runs``: what the seeds are there, "seed", "fold" or "draw".
    """

    def __init__(self, store: ResultsFile | None, say: Callable[[str], None], runs: str = "seed") -> None:
        self.store, self.say, self.runs = store, say, runs
        self.cells: dict[tuple[str, int], Cell] = {} if store is None else store.cells

    def lacking(self, methods: Iterable[str], seed: int) -> list[str]:
        return [method for method in methods if (method, seed) not in self.cells]

    def lacks(self, method: str, seed: int) -> bool:
        """By now, where others add to the file."""
        if (method, seed) not in self.cells and self.store is not None:
            self.store.refresh()
        return (method, seed) not in self.cells

    def add(self, method: str, seed: int, cell: Cell | DivergenceError) -> None:
        """One that was made elsewhere, unless it is there; one that diverged is said to and left out."""
        if isinstance(cell, DivergenceError):
            self.diverged(method, seed, cell)
        else:
            self.make(method, seed, lambda: cell)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Where somebody interrupts, they hear what stays."""
        try:
            yield
        except KeyboardInterrupt as end:
            if self.store is not None and self.store.path.exists():
                end.add_note(f"finished cells are kept in {self.store.path}: the same command goes on")
            raise

    def make(self, method: str, seed: int, work: Callable[[], Cell]) -> None:
        """The cell by ``work``, unless it is there; one that diverges is said to and left out."""
        if (method, seed) in self.cells:
            return
        with self.kept():
            try:
                self.cells[method, seed] = self.store.run(method, seed, work) if self.store else work()
            except DivergenceError as error:
                self.diverged(method, seed, error)

    def diverged(self, method: str, seed: int, error: DivergenceError) -> None:
        self.say(f"{method} {self.runs} {seed} diverged: {error}")

    def of(self, methods: Iterable[str], seeds: Iterable[int], *references: str) -> dict[tuple[str, int], Cell]:
        """Those of these methods and seeds that there are. DivergenceError where none is a reference's."""
        seeds = list(seeds)
        asked = {(m, seed): self.cells[m, seed] for m in methods for seed in seeds if (m, seed) in self.cells}
        if not any(method in references for method, _ in asked):
            raise DivergenceError(
                f"All runs of {', '.join(references)}, which others are held against, diverged: lower --model.learning_rate."
            )
        return asked
