"""Rules over masks, as values, and the mask that keeps them. A class is a value of the training masks.

    Within(value, top, left, bottom, right)    the class lies in this box, in shares of the height and of the width
    Size(value, least, most)                   its pixels are at least and at most these shares of the image
    Connected(value, pieces=1)                 they hang together, side by side, in so many pieces at most

They bind at decision time (:meth:`MaskRules.kept`): a pixel costs as many nats as its class is less probable than its best other.
Sizes and boxes are met at the least cost. Which connected set costs least is NP-hard to say: the pieces that are worth most are
kept, those that told pixels are in are joined by cheapest paths, and pixels are added or dropped one by one at the edge. At least
one class has no rule, which takes what others give up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.sparse.csgraph import dijkstra

from enstruct.errors import ConfigError, DataError, unknown_name
from enstruct.rules.mask_areas import leave_an_image
from enstruct.rules.often import Count
from enstruct.rules.smallest import refused, smallest_conflict
from enstruct.validation import is_whole

EPS = 1e-9
STEP = 1e-3
"""What a pixel of a path costs at least, so that paths are short."""
Grid = NDArray[np.bool_]


@dataclass(frozen=True)
class Within:
    value: int
    top: float = 0.0
    left: float = 0.0
    bottom: float = 1.0
    right: float = 1.0

    def __str__(self) -> str:
        rows, columns = (f"{100 * a:g} to {100 * b:g}%" for a, b in ((self.top, self.bottom), (self.left, self.right)))
        return f"{self.value} lies in {rows} of the rows and {columns} of the columns"


@dataclass(frozen=True)
class Size:
    value: int
    least: float = 0.0
    most: float = 1.0

    def __str__(self) -> str:
        return f"{self.value} is {100 * self.least:g} to {100 * self.most:g}% of the image"


@dataclass(frozen=True)
class Connected:
    value: int
    pieces: int = 1

    def __str__(self) -> str:
        return f"{self.value} is in {self.pieces} {'piece' if self.pieces == 1 else 'pieces'} at most"


MASK_RULES = (Within, Size, Connected)


@dataclass(frozen=True)
class MaskRules:
    """``rules`` over class numbers, in the order of ``classes``, the values of masks."""

    rules: tuple[Any, ...]
    classes: tuple[int, ...]

    @classmethod
    def of(cls, rules: Any, classes: Sequence[int]) -> Self | None:
        """None without rules. ConfigError for what is none, classes that are not there, shares that nothing has, and where every
        class has a rule (:meth:`check_possible` finds those that contradict one another)."""
        several = () if rules is None else tuple(rules) if isinstance(rules, (list, tuple)) else (rules,)
        for rule in several:
            if not isinstance(rule, MASK_RULES):
                raise ConfigError(f"rules= of a segmenter takes rules of enstruct.rules.masks, not {rule!r:.80}.")
            if not is_whole(rule.value) or rule.value not in classes:
                raise ConfigError(str(unknown_name("class in a rule", str(rule.value), [str(one) for one in classes])))
            if isinstance(rule, Connected) and not (is_whole(rule.pieces) and rule.pieces >= 1):
                raise ConfigError(f"The rule {rule}: at least one piece.")
            shares = [value for name, value in vars(rule).items() if name not in ("value", "pieces")]
            if not all(isinstance(share, Real) for share in shares):
                raise ConfigError(f"The rule {rule!r:.120}: shares are numbers from 0 to 1.")
            bounds = {Size: lambda r: [(r.least, r.most)], Within: lambda r: [(r.top, r.bottom), (r.left, r.right)]}
            if not all(0 <= low <= high <= 1 for low, high in bounds.get(type(rule), lambda r: [])(rule)):
                raise ConfigError(f"The rule {rule!r:.120}: shares from 0 to 1, the lower first.")
        if not several:
            return None
        out = cls(several, tuple(classes))
        if len(out._values) == len(classes):
            raise ConfigError("Every class has a rule: at least one has none, which takes the pixels that others give up.")
        return out

    def check_possible(self, shapes: Iterable[tuple[int, ...]]) -> None:
        """ConfigError that names the fewest boxes and sizes that no mask of one of these shapes (height, width) meets."""
        for shape in dict.fromkeys(shapes):
            if not self._leaves(range(len(self.rules)), shape):
                named = smallest_conflict(len(self.rules), partial(self._leaves, shape=shape))
                raise refused(f"mask of {shape[0]} x {shape[1]} pixels", [self.rules[k] for k in named])

    def _leaves(self, some: Sequence[int], shape: tuple[int, ...]) -> bool:
        few, n = [self.rules[k] for k in some], shape[0] * shape[1]
        values = list(dict.fromkeys(rule.value for rule in few if isinstance(rule, Size)))
        grids = {value: np.ones(shape, dtype=bool) for value in values}
        least, most = dict.fromkeys(values, 0), dict.fromkeys(values, n)
        for rule in (rule for rule in few if rule.value in grids):
            match rule:
                case Within(value):
                    grids[value] &= _box(rule, shape)
                case Size(value, low, high):
                    least[value], most[value] = max(least[value], _low(low, n)), min(most[value], _high(high, n))
        return not values or leave_an_image([*least.values()], [*most.values()], [*grids.values()])

    @property
    def _values(self) -> list[int]:
        return list(dict.fromkeys(rule.value for rule in self.rules))

    def counts(self, masks: Sequence[NDArray[np.int64]]) -> list[Count]:
        """Of every rule over masks of class numbers; it is about those with a pixel of its class, and those that break it."""
        out = []
        for rule in self.rules:
            there = [mask == self.classes.index(rule.value) for mask in masks]
            broken = [not self._keeps(rule, one) for one in there]
            about = sum(wrong or bool(one.any()) for wrong, one in zip(broken, there, strict=True))
            out.append(Count(str(rule), sum(broken), about))
        return out

    def are_kept(self, numbers: NDArray[np.int64]) -> bool:
        """Whether a mask of class numbers (height, width) breaks nothing."""
        return all(self._keeps(rule, numbers == self.classes.index(rule.value)) for rule in self.rules)

    def _keeps(self, rule: Any, there: Grid) -> bool:
        match rule:
            case Within():
                return not (there & ~_box(rule, there.shape)).any()
            case Size(_, least, most):
                return bool(_low(least, there.size) <= there.sum() <= _high(most, there.size))
        return int(ndimage.label(there)[1]) <= rule.pieces

    def kept(self, numbers: NDArray[np.int64], p: NDArray[Any], told: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """``numbers`` (height, width) changed so that they break nothing; p (height, width, classes); ``told``: class numbers of
        pixels that stay, -1 elsewhere. DataError where what is told leaves no such mask."""
        out = numbers.copy()
        taken = np.zeros(numbers.shape, dtype=bool)
        free = [k for k, value in enumerate(self.classes) if value not in self._values]
        best_free = np.array(free)[p[..., free].argmax(2)]
        fixed = np.full(numbers.shape, -1) if told is None else told
        for value in self._values:
            k = self.classes.index(value)
            others = np.delete(p, k, axis=2).max(2)
            gain = np.log(np.maximum(p[..., k], EPS)) - np.log(np.maximum(others, EPS))
            mine, allowed = fixed == k, ~taken & ((fixed < 0) | (fixed == k))
            chosen = self._chosen(value, (out == k) | mine, gain, allowed, mine)
            out = np.where(chosen, k, np.where(out == k, best_free, out))
            taken |= chosen
        return out

    def _chosen(self, value: int, there: Grid, gain: NDArray[Any], allowed: Grid, mine: Grid) -> Grid:
        least, most, pieces = 0, there.size, None
        for rule in (rule for rule in self.rules if rule.value == value):
            match rule:
                case Within():
                    allowed = allowed & _box(rule, there.shape)
                case Size(_, low, high):
                    least, most = max(least, _low(low, there.size)), min(most, _high(high, there.size))
                case Connected():
                    pieces = rule.pieces if pieces is None else min(pieces, rule.pieces)
        if (mine & ~allowed).any():
            row, column = np.argwhere(mine & ~allowed)[0]
            raise DataError(
                f"known tells {value} at row {row}, column {column}, which breaks {self._words(value)}: mend one of them."
            )
        chosen = there & allowed
        if pieces is not None:
            chosen = self._joined(value, chosen, gain, allowed, mine, pieces)
        chosen = _shrunk(chosen, gain, mine, most, pieces is not None)
        chosen = _grown(chosen, gain, allowed, least, pieces)
        if not least <= chosen.sum() <= most:
            raise DataError(f"What is told leaves no mask that keeps {self._words(value)}: tell less, or mend a rule.")
        return chosen

    def _words(self, value: int) -> str:
        return "the rules " + "; ".join(str(rule) for rule in self.rules if rule.value == value)[:140]

    def _joined(self, value: int, chosen: Grid, gain: NDArray[Any], allowed: Grid, mine: Grid, pieces: int) -> Grid:
        """The pieces worth most, those of told pixels among them, these joined where they are too many."""
        parts, n = ndimage.label(chosen)
        while len(told := np.setdiff1d(np.unique(parts[mine]), [0])) > pieces:
            path = _path(parts == told[0], mine & (parts != told[0]), gain, allowed)
            if path is None:
                raise DataError(f"What is told of {value} cannot be joined, as {self._words(value)} have it: mend one of them.")
            chosen = chosen | path
            parts, n = ndimage.label(chosen)
        worth = ndimage.sum_labels(gain, parts, np.arange(1, n + 1))
        worth[told - 1] = np.inf
        return np.isin(parts, 1 + np.argsort(-worth, kind="stable")[:pieces])


def _low(share: float, size: int) -> int:
    return int(np.ceil(share * size - EPS))


def _high(share: float, size: int) -> int:
    return int(np.floor(share * size + EPS))


def _box(rule: Within, shape: tuple[int, ...]) -> Grid:
    """Pixels whose middle lies in it."""
    rows, columns = ((np.arange(n) + 0.5) / n for n in shape)
    return np.outer((rows >= rule.top) & (rows <= rule.bottom), (columns >= rule.left) & (columns <= rule.right))


def _beside(row: int, column: int, shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for a, b in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
        if 0 <= a < shape[0] and 0 <= b < shape[1]:
            yield a, b


def _path(start: Grid, ends: Grid, gain: NDArray[Any], allowed: Grid) -> Grid | None:
    """Pixels of the cheapest way through what is allowed; None where there is none."""
    number = np.arange(start.size).reshape(start.shape)
    cost = np.maximum(-gain, 0) + STEP
    rows, columns, values = [], [], []
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        open_ = allowed[a] & allowed[b]
        for one, other in ((a, b), (b, a)):
            rows.append(number[one][open_])
            columns.append(number[other][open_])
            values.append(cost[other][open_])
    graph = sparse.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(start.size,) * 2)
    far, before, _ = dijkstra(graph, indices=number[start], min_only=True, return_predecessors=True)
    at = int(number[ends][far[number[ends]].argmin()])
    if np.isinf(far[at]):
        return None
    path = np.zeros(start.size, dtype=bool)
    while at >= 0:
        path[at] = True
        at = int(before[at])
    return path.reshape(start.shape)


def _shrunk(chosen: Grid, gain: NDArray[Any], mine: Grid, most: int, whole: bool) -> Grid:
    """Without the pixels of least gain, told ones aside; ``whole``: pieces stay in one."""
    out = chosen.copy()
    if not whole:
        spare = np.flatnonzero(out & ~mine)
        out.ravel()[spare[np.argsort(gain.ravel()[spare], kind="stable")[: max(0, int(out.sum()) - most)]]] = False
        return out
    while out.sum() > most:
        dropped = 0
        for row, column in np.argwhere(out & ~mine)[np.argsort(gain[out & ~mine], kind="stable")].tolist():
            if out.sum() <= most:
                break
            if _is_spare(out, row, column):
                out[row, column] = False
                dropped += 1
        if not dropped:
            break
    return out


def _is_spare(there: Grid, row: int, column: int) -> bool:
    """Whether what is beside the pixel hangs together without it: around it, or elsewhere."""
    around = np.pad(there, 1)[row : row + 3, column : column + 3].copy()
    around[1, 1] = False
    parts, _ = ndimage.label(around)
    if len({int(parts[at]) for at in ((0, 1), (2, 1), (1, 0), (1, 2)) if parts[at]}) <= 1:
        return True
    without = there.copy()
    without[row, column] = False
    return int(ndimage.label(without)[1]) <= int(ndimage.label(there)[1])


def _grown(chosen: Grid, gain: NDArray[Any], allowed: Grid, least: int, pieces: int | None) -> Grid:
    """With the pixels of most gain, with ``pieces`` beside what is there."""
    out, missing = chosen.copy(), least - int(chosen.sum())
    if missing <= 0:
        return out
    if pieces is None:
        spare = np.flatnonzero(allowed & ~out)
        out.ravel()[spare[np.argsort(-gain.ravel()[spare], kind="stable")[:missing]]] = True
        return out
    edge: list[tuple[float, int, int]] = []

    def put(row: int, column: int) -> None:
        out[row, column] = True
        for a, b in _beside(row, column, out.shape):
            if allowed[a, b] and not out[a, b]:
                heapq.heappush(edge, (-float(gain[a, b]), a, b))

    for row, column in np.argwhere(chosen):
        put(int(row), int(column))
    while out.sum() < least:
        if edge:
            _, row, column = heapq.heappop(edge)
            if not out[row, column]:
                put(row, column)
            continue
        open_ = allowed & ~out
        if not open_.any() or int(ndimage.label(out)[1]) >= pieces:
            break
        put(*divmod(int(np.where(open_, gain, -np.inf).argmax()), out.shape[1]))
    return out
