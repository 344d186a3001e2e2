"""Rules over masks, as values, and the mask that keeps them. A class is a value of the training masks.

    Within(value, top, left, bottom, right)    the class lies in this box, in shares of the height and of the width
    Size(value, least, most)                   its pixels are at least and at most these shares of the image
    Connected(value, pieces=1)                 they hang together, side by side, in so many pieces at most

Boxes and sizes weigh in probabilities (:meth:`MaskRules.marginals`). All bind at decision time (:meth:`MaskRules.kept`): a pixel
costs as many nats as its class is less probable than its best other. Sizes and boxes of one class are met at the least cost;
connected pieces, and several classes, by repairs of what was decided (:mod:`enstruct.rules.mask_repairs`) and, where those come
to nothing, anew from what is told; of small images an integer program is the last word. At least one class has no rule, which
takes what others give up.

A preference, ``Soft(rule, weight)``, costs a mask that breaks it its weight. Each set of preferences is made to bind in turn, and
of the masks found that is taken which is worth most, log-probabilities of pixels less the weights of what is broken: the best of
all where those of each set are, as of sizes and boxes of one class.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from enstruct.errors import ConfigError, DataError, shortened, unknown_name
from enstruct.rules.mask_areas import leave_an_image
from enstruct.rules.mask_marginals import TURNS, sized, without
from enstruct.rules.mask_program import SECONDS, ClassOf, cheapest
from enstruct.rules.mask_repairs import Grid, repaired
from enstruct.rules.often import Count, check_seldom
from enstruct.rules.smallest import refused, smallest_conflict
from enstruct.rules.soft import Soft, bare
from enstruct.validation import is_whole

EPS = 1e-9
MOST_PREFERRED = 6
"""Preferences: all sets of them are tried, of every image whose mask breaks one."""


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
    """``rules`` that bind, over class numbers in the order of ``classes``, the values of masks, and ``preferred`` ones."""

    rules: tuple[Any, ...]
    classes: tuple[int, ...]
    preferred: tuple[Soft, ...] = ()

    @classmethod
    def of(cls, rules: Any, classes: Sequence[int]) -> Self | None:
        """None without rules. ConfigError for what is none, classes that are not there, shares that nothing has, too many
        preferences, and where every class has a rule (:meth:`check_possible` finds those that contradict one another)."""
        several = () if rules is None else tuple(rules) if isinstance(rules, (list, tuple)) else (rules,)
        for rule in map(bare, several):
            if not isinstance(rule, MASK_RULES):
                raise ConfigError(f"rules= of a segmenter takes rules of enstruct.rules.masks, not {rule!r:.80}.")
            if not is_whole(rule.value) or rule.value not in classes:
                names = [str(one) for one in classes]
                raise ConfigError(f"The rule {shortened(repr(rule), 100)}: {unknown_name('class', str(rule.value), names)}")
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
        preferred = tuple(rule for rule in several if isinstance(rule, Soft))
        if len(preferred) > MOST_PREFERRED:
            raise ConfigError(
                f"{len(preferred)} preferences over masks: {MOST_PREFERRED} at most, as all sets of them are tried."
            )
        if len({bare(rule).value for rule in several}) == len(classes):
            raise ConfigError("Every class has a rule: at least one has none, which takes the pixels that others give up.")
        return cls(tuple(rule for rule in several if not isinstance(rule, Soft)), tuple(classes), preferred)

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
        """Of every rule over masks of class numbers, those that bind first; it is about masks with a pixel of its class, and
        those that break it."""
        out = []
        for rule in (*self.rules, *self.preferred):
            broken = [not self._keeps(bare(rule), mask) for mask in masks]
            there = [bool((mask == self.classes.index(bare(rule).value)).any()) for mask in masks]
            about = sum(wrong or one for wrong, one in zip(broken, there, strict=True))
            out.append(Count(str(rule), sum(broken), about))
        return out

    def check_masks(self, masks: Sequence[NDArray[np.int64]]) -> None:
        """DataError for a rule that binds and that masks of class numbers break often."""
        mend = "mend them, or give it as a preference, Soft(rule, weight)"
        check_seldom(self.counts(masks)[: len(self.rules)], "training masks", mend)

    def are_kept(self, numbers: NDArray[np.int64]) -> bool:
        """Whether a mask of class numbers (height, width) breaks nothing that binds."""
        return all(self._keeps(rule, numbers) for rule in self.rules)

    def _keeps(self, rule: Any, numbers: NDArray[np.int64]) -> bool:
        there = numbers == self.classes.index(rule.value)
        match rule:
            case Within():
                return not (there & ~_box(rule, there.shape)).any()
            case Size(_, least, most):
                return bool(_low(least, there.size) <= there.sum() <= _high(most, there.size))
        return int(ndimage.label(there)[1]) <= rule.pieces

    def kept(self, numbers: NDArray[np.int64], p: NDArray[Any], told: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """``numbers`` (height, width) changed so that they break nothing that binds, and of preferences what is not worth its
        weight; p (height, width, classes); ``told``: class numbers of pixels that stay, -1 elsewhere. DataError where what is
        told leaves no such mask."""
        best = self._bound(numbers, p, told)
        broken = [soft for soft in self.preferred if not self._keeps(soft.rule, best)]
        if not broken:
            return best
        worth, ends = self._worth(best, p), time.monotonic() + SECONDS
        failed: list[set[Soft]] = []
        preferred = tuple(dict.fromkeys(self.preferred))
        for n in range(1, len(preferred) + 1):
            for some in combinations(preferred, n):
                # nothing that breaks a preference would change; where no mask keeps some of them none keeps more
                if not set(some) & set(broken) or any(few <= set(some) for few in failed):
                    continue
                binding = replace(self, rules=(*self.rules, *map(bare, some)))
                try:
                    mask = binding._bound(numbers, p, told, ends - time.monotonic())
                except DataError:  # what is told leaves no mask that keeps them, or none is found in time
                    failed.append(set(some))
                    continue
                if (value := self._worth(mask, p)) > worth:
                    best, worth = mask, value
        return best

    def marginals(self, p: NDArray[Any], told: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """(height, width, classes) of p, once boxes and sizes are known to hold (:mod:`enstruct.rules.mask_marginals`). DataError
        as :meth:`kept` for told pixels outside of a box, or of more or fewer pixels than a size allows."""
        out, fixed = np.asarray(p, dtype=np.float64), np.full(p.shape[:2], -1) if told is None else told
        free = np.array([k for k, value in enumerate(self.classes) if value not in self._values])
        binding = {self.classes.index(value): self._of_class(value, out, fixed) for value in self._values}
        for k, one in binding.items():
            n_told = int(one.told.sum())
            if int((one.may & (fixed < 0)).sum()) + n_told < one.least or n_told > one.most:
                words = self._words(self.classes[k])
                if not (fixed >= 0).any():
                    raise DataError(f"No mask of {p.shape[0]} x {p.shape[1]} pixels keeps {words}: mend a rule.")
                raise DataError(f"What is told leaves no mask that keeps {words}: tell less, or mend a rule.")
            out = without(out, k, np.where(one.may, out[..., k], 0.0), free)
        bounded = {k: one for k, one in binding.items() if (one.least, one.most) != (0, fixed.size)}
        for k, one in [*bounded.items()] * (TURNS if len(bounded) > 1 else 1):
            share, open_ = out[..., k].copy(), one.may & (fixed < 0)
            n_told = int(one.told.sum())
            share[open_] = sized(share[open_], one.least - n_told, one.most - n_told)
            out = without(out, k, share, free)
        return out

    def _worth(self, numbers: NDArray[np.int64], p: NDArray[Any]) -> float:
        """Nats: the log-probability of a mask less the weights of the preferences that it breaks."""
        chosen = np.take_along_axis(p, numbers[..., None], 2)
        broken = (soft.weight for soft in self.preferred if not self._keeps(soft.rule, numbers))
        return float(np.log(np.maximum(chosen, EPS)).sum()) - sum(broken)

    def _bound(
        self, numbers: NDArray[np.int64], p: NDArray[Any], told: NDArray[np.int64] | None, seconds: float = SECONDS
    ) -> NDArray[np.int64]:
        """As :meth:`kept`, without preferences. ``seconds``: that an integer program has."""
        fixed = np.full(numbers.shape, -1) if told is None else told
        free = [k for k, value in enumerate(self.classes) if value not in self._values]
        best_free = np.array(free)[p[..., free].argmax(2)]
        binding = [self._of_class(value, p, fixed) for value in self._values]
        order, missed = tuple(range(len(binding))), None
        for sparing, some in product((False, True), dict.fromkeys((order, order[::-1]))):  # of one class there is one order
            missed = self._class_by_class(out := numbers.copy(), best_free, binding, some, sparing)
            if missed is None:
                return out
        return self._by_program(missed, binding, p, np.where(fixed < 0, best_free, fixed), seconds, bool((fixed >= 0).any()))

    def _class_by_class(
        self,
        out: NDArray[np.int64],
        best_free: NDArray[np.int64],
        binding: Sequence[ClassOf],
        order: Sequence[int],
        sparing: bool,
    ) -> int | None:
        """Repairs ``out`` in place, in this order; the value of a class for which that came to nothing, None where all keep what
        binds them. ``sparing``: from what is told alone and by the shortest paths, with as few pixels as will do."""
        taken = np.zeros(out.shape, dtype=bool)
        for i in order:
            value, one = self._values[i], binding[i]
            k = self.classes.index(value)
            there = one.told if sparing else (out == k) | one.told
            chosen = repaired(there, replace(one, may=one.may & ~taken), sparing)
            if chosen is None:
                return value
            out[:] = np.where(chosen, k, np.where(out == k, best_free, out))
            taken |= chosen
        return None

    def _of_class(self, value: int, p: NDArray[Any], fixed: NDArray[np.int64]) -> ClassOf:
        """DataError for told pixels outside of its boxes."""
        k, shape = self.classes.index(value), fixed.shape
        others = np.delete(p, k, axis=2).max(2)
        gain = np.log(np.maximum(p[..., k], EPS)) - np.log(np.maximum(others, EPS))
        mine, may, least, most, pieces = fixed == k, (fixed < 0) | (fixed == k), 0, fixed.size, None
        for rule in (rule for rule in self.rules if rule.value == value):
            match rule:
                case Within():
                    may = may & _box(rule, shape)
                case Size(_, low, high):
                    least, most = max(least, _low(low, fixed.size)), min(most, _high(high, fixed.size))
                case Connected():
                    pieces = rule.pieces if pieces is None else min(pieces, rule.pieces)
        if (mine & ~may).any():
            row, column = np.argwhere(mine & ~may)[0]
            raise DataError(
                f"known tells {value} at row {row}, column {column}, which breaks {self._words(value)}: mend one of them."
            )
        return ClassOf(gain, may, mine, least, most, pieces)

    def _by_program(
        self, missed: int | None, binding: Sequence[ClassOf], p: NDArray[Any], rest: NDArray[np.int64], seconds: float, told: bool
    ) -> NDArray[np.int64]:
        """Where repairs class by class found nothing for one; ``rest`` (height, width): what pixels are that no class takes;
        ``told``: whether any pixel is."""
        given_up = np.take_along_axis(p, rest[..., None], 2)[..., 0]
        gains = [np.log(np.maximum(p[..., self.classes.index(v)], EPS) / np.maximum(given_up, EPS)) for v in self._values]
        found, certain = cheapest([replace(one, gain=gain) for one, gain in zip(binding, gains, strict=True)], seconds)
        if found is None:
            if not told:
                what = f"No mask of {p.shape[0]} x {p.shape[1]} pixels keeps" if certain else "No mask was found that keeps"
                raise DataError(f"{what} {self._words(missed)}: mend a rule.")
            what = "What is told leaves no mask that keeps" if certain else "No mask was found that keeps what is told and"
            raise DataError(f"{what} {self._words(missed)}: tell less, or mend a rule.")
        out = rest.copy()
        for value, chosen in zip(self._values, found, strict=True):
            out[chosen] = self.classes.index(value)
        return out

    def _words(self, value: int | None) -> str:
        return "the rules " + "; ".join(str(rule) for rule in self.rules if rule.value == value)[:140]


def _low(share: float, size: int) -> int:
    return int(np.ceil(share * size - EPS))


def _high(share: float, size: int) -> int:
    return int(np.floor(share * size + EPS))


def _box(rule: Within, shape: tuple[int, ...]) -> Grid:
    """Pixels whose middle lies in it."""
    rows, columns = ((np.arange(n) + 0.5) / n for n in shape)
    return np.outer((rows >= rule.top) & (rows <= rule.bottom), (columns >= rule.left) & (columns <= rule.right))
