"""Masks as a distribution: a grid of pixels over what a segmenter says of each, given the pixels that are told.

    E(x, y) = - a sum_p log q(y_p | x) + sum_{p ~ q} w_pq(x) [y_p != y_q] - sum_p s_p(y_p)             q: the segmenter's
    w_pq(x) = smooth exp(-|x_p - x_q|^2 / 2 contrast^2) + least                                       neighbours that look alike
    s_p(k)  =   near  max_c exp(-|p - c|^2 / 2 near_width^2)                               c: the told pixels of class k
              + alike max_c exp(-|p - c|^2 / 2 alike_width^2 - |x_p - x_c|^2 / 2 colour_width^2)

x_p are the pixel's standardised channels; distances are shares of the image's longer side. The nearest and the most alike told
pixel of a class speak for it, so that a scribble of a thousand pixels says no more than what it shows. Answers are mean field's:
the pixels of a chessboard's two colours take turns, each colour at once, told pixels stay.

The nine numbers are learnt on validation images by the conditional likelihood that is asked for (:func:`fit_field`),

    mean over untold pixels of -log m_p(y_p | x, told),      told pixels drawn anew, half of them where the segmenter is wrong

through the turns of mean field themselves: pseudo-likelihood takes a pixel's neighbours for known, of which all but a few are
not (``enstruct_bench.joint.field_variants`` has both, and blocked Gibbs sampling for the answers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from torch import Tensor

TURNS = 10
"""Of both colours of the board."""
TOLD = 512
"""Told pixels a class and image among which the most alike is looked for, evenly among them where there are more."""
AT_A_TIME = 64
"""Of these."""
FITTED, BATCH = 2**19, 2**14
"""Pixels of the images that the numbers are learnt on, and of those of a step, at most."""
STEPS, RATE = 60, 0.08
CLICKS = (0, 1, 2, 5, 10)
EPS = 1e-4
"""The segmenter's probabilities are no nearer to 0."""
PREFIX = "field/"
"""Of the numbers' names in a model file."""


class Field(NamedTuple):
    """Logarithms of the numbers, each ()."""

    scale: Tensor
    smooth: Tensor
    contrast: Tensor
    least: Tensor
    near: Tensor
    near_width: Tensor
    alike: Tensor
    alike_width: Tensor
    colour_width: Tensor

    @classmethod
    def before(cls) -> Self:
        """Where learning begins, and what a segmenter has that validated nothing."""
        return cls(*(torch.tensor(float(np.log(value))) for value in (1.0, 0.5, 0.5, 0.05, 3.0, 0.05, 3.0, 0.2, 0.5)))

    def tensors(self) -> dict[str, Tensor]:
        return {PREFIX + name: part for name, part in self._asdict().items()}

    @classmethod
    def parse(cls, tensors: Mapping[str, Tensor]) -> Self:
        """Those of a model file; where an older one has none, :meth:`before`. ValueError for others."""
        parts = {name: tensors[PREFIX + name] for name in cls._fields if PREFIX + name in tensors}
        if parts and (len(parts) < len(cls._fields) or not all(part.shape == () and part.isfinite() for part in parts.values())):
            raise ValueError("its field of pixels is not whole")
        return cls(**parts) if parts else cls.before()


class Pictures(NamedTuple):
    """Of one size. ``p`` (images, height, width, classes) of the segmenter; ``x`` (images, height, width, channels); ``told``
    (images, height, width): class numbers, -1 where nothing is told."""

    p: NDArray[np.float32]
    x: NDArray[np.float32]
    told: NDArray[np.int64]


def marginals(field: Field, p: NDArray[np.float32], x: NDArray[np.float32], told: NDArray[np.int64]) -> NDArray[np.float32]:
    """(height, width, classes) p(y_p | x, told) of one image, by mean field; told pixels as they were told."""
    with torch.no_grad():
        m = mean_field(field, Pictures(p[None], x[None], told[None]))[0].exp().numpy()
    m[told >= 0] = np.eye(m.shape[2], dtype=np.float32)[told[told >= 0]]
    return m


class Grids(NamedTuple):
    """-E of a field as grids: ``scores`` (images, height, width, classes) of single pixels, and what neighbours of one class are
    worth, ``across`` (images, height, width - 1, 1) and ``down`` (images, height - 1, width, 1)."""

    scores: Tensor
    across: Tensor
    down: Tensor

    @classmethod
    def of(cls, field: Field, pictures: Pictures) -> Self:
        log_q = torch.from_numpy(pictures.p).clamp(min=EPS).log()
        scores = field.scale.exp() * log_q + torch.stack([_said(field, *one) for one in zip(*pictures, strict=True)])
        return cls(scores, *_links(field, torch.from_numpy(pictures.x)))

    def given(self, m: Tensor) -> Tensor:
        """(images, height, width, classes) log-probabilities of each pixel, its neighbours being m (images, height, width,
        classes)."""
        across, down = self.across, self.down
        pushed = F.pad(across * m[:, :, 1:], (0, 0, 0, 1)) + F.pad(across * m[:, :, :-1], (0, 0, 1, 0))
        pushed = pushed + F.pad(down * m[:, 1:], (0, 0, 0, 0, 0, 1)) + F.pad(down * m[:, :-1], (0, 0, 0, 0, 1, 0))
        return torch.log_softmax(self.scores + pushed, 3)


def board(height: int, width: int) -> Tensor:
    """(height, width, 1) the two colours of a chessboard: neighbours differ."""
    return (torch.arange(height).unsqueeze(1) + torch.arange(width)).unsqueeze(2) % 2


def mean_field(field: Field, pictures: Pictures) -> Tensor:
    """(images, height, width, classes) log-marginals; of told pixels 0 and log EPS."""
    told, grids = torch.from_numpy(pictures.told), Grids.of(field, pictures)
    fixed = (told >= 0).unsqueeze(3)
    clamped = F.one_hot(told.clamp(min=0), grids.scores.shape[3]).to(grids.scores.dtype).clamp(min=EPS).log()
    colours = board(*told.shape[1:])
    log_m = torch.where(fixed, clamped, torch.log_softmax(grids.scores, 3))
    for _ in range(TURNS):
        for colour in (0, 1):
            log_m = torch.where((colours == colour) & ~fixed, grids.given(log_m.exp()), log_m)
    return log_m


def _links(field: Field, x: Tensor) -> tuple[Tensor, Tensor]:
    """w of each pixel and the next in its row, and in its column."""

    def alike(a: Tensor, b: Tensor) -> Tensor:
        apart = (a - b).square().sum(3, keepdim=True)
        return field.smooth.exp() * torch.exp(-0.5 * apart / field.contrast.exp().square()) + field.least.exp()

    return alike(x[:, :, :-1], x[:, :, 1:]), alike(x[:, :-1], x[:, 1:])


def _said(field: Field, p: NDArray[np.float32], x: NDArray[np.float32], told: NDArray[np.int64]) -> Tensor:
    """s (height, width, classes) of one image."""
    (height, width, n_classes), longer = p.shape, max(p.shape[:2])
    grid = torch.from_numpy(np.indices((height, width), dtype=np.float32).reshape(2, -1).T / longer)
    colours = torch.from_numpy(x).reshape(height * width, -1)
    places = torch.cat([grid / field.alike_width.exp(), colours / field.colour_width.exp()], 1)  # the alike are near each other
    said = []
    for k in range(n_classes):
        speaking = np.flatnonzero(told == k)
        if not len(speaking):
            said.append(torch.zeros(height, width))
            continue
        away = torch.from_numpy(distance_transform_edt(told != k).astype(np.float32) / longer)
        near = field.near.exp() * torch.exp(-0.5 * (away / field.near_width.exp()).square())
        some = speaking[np.linspace(0, len(speaking) - 1, min(len(speaking), TOLD)).astype(int)]
        apart = torch.stack([_least_apart(places, places[part]) for part in torch.from_numpy(some).split(AT_A_TIME)]).amin(0)
        said.append(near + field.alike.exp() * torch.exp(-0.5 * apart).reshape(height, width))
    return torch.stack(said, dim=2)


def _least_apart(places: Tensor, some: Tensor) -> Tensor:
    """(places,) the squared distance of each to the nearest of some."""
    return ((some.square().sum(1) - 2 * places @ some.T).amin(1) + places.square().sum(1)).clamp(min=0)


Answers = Callable[[Field, Pictures, Tensor], Tensor]
"""(field, pictures, class numbers with -1 where none is known) -> log-probabilities of classes that the true ones are looked up
in."""


def as_answered(field: Field, pictures: Pictures, truth: Tensor) -> Tensor:
    """What is answered, which knows the told pixels alone."""
    return mean_field(field, pictures)


def fit_field(
    p: Sequence[NDArray[np.float32]],
    x: Sequence[NDArray[np.float32]],
    truth: Sequence[NDArray[np.int64]],
    seed: int,
    answers: Answers = as_answered,
) -> Field:
    """Of images that the segmenter has not learnt from: its probabilities, their pixels, and their class numbers, -1 where the
    class is not known."""
    parts = [part.clone().requires_grad_() for part in Field.before()]
    optimizer, rng = torch.optim.Adam(parts, lr=RATE), np.random.default_rng(seed)
    order = rng.permutation(len(p))
    order = order[: max(1, int((np.cumsum([truth[i].size for i in order]) <= FITTED).sum()))]
    for _ in range(STEPS):
        some = _of_one_size(order, truth, rng)
        told = np.stack([clicked(p[i], truth[i], int(rng.choice(CLICKS)), rng) for i in some])
        right = np.stack([truth[i] for i in some])
        seen = Pictures(np.stack([p[i] for i in some]), np.stack([x[i] for i in some]), told)
        log_m = answers(Field(*parts), seen, torch.from_numpy(right))
        asked = torch.from_numpy((told < 0) & (right >= 0))
        loss = -log_m.gather(3, torch.from_numpy(right).clamp(min=0).unsqueeze(3)).squeeze(3)[asked]
        if len(loss):
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
    return Field(*(part.detach() for part in parts))


def _of_one_size(order: NDArray[np.intp], truth: Sequence[Any], rng: np.random.Generator) -> list[int]:
    """A few images for a step: as many of the size of one of them as have BATCH pixels, two where there are so many."""
    first = int(rng.choice(order))
    alike = [int(i) for i in rng.permutation(order) if truth[i].shape == truth[first].shape]
    return alike[: max(2, BATCH // truth[first].size)]


def clicked(p: NDArray[np.float32], truth: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(height, width) n told pixels, half of them where the most probable class is wrong; -1 elsewhere."""
    told = np.full(truth.shape, -1)
    known = np.flatnonzero(truth.ravel() >= 0)
    wrong = known[p.argmax(2).ravel()[known] != truth.ravel()[known]]
    some = np.concatenate([rng.permutation(wrong)[: n // 2 + n % 2], rng.permutation(known)[: n // 2]])
    told.ravel()[some] = truth.ravel()[some]
    return told
