"""The pictures of docs/tour.md: the workbench at work, in a real browser, on data that the library makes.

    enstruct-bench workbench tour --json docs/tour

A model is trained on generated songs, a tagger on sentences made of a few names, a segmenter on ellipses; pages are served as the
commands serve them, and photographed by Chromium through Playwright.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from enstruct.cli.main import main
from enstruct.data.dataset import Dataset
from enstruct.data.image_folders import Pictures
from enstruct.data.songs import songs
from enstruct.data.synthetic import ellipses
from enstruct.errors import MissingExtraError
from enstruct.estimators import EnergySegmenter, EnergySequenceTagger
from enstruct.estimators.joint import JointMultiLabelClassifier
from enstruct.workbench.contents import Contents
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.labelling import Labelling
from enstruct.workbench.learning import Learner
from enstruct.workbench.masks import Masks
from enstruct.workbench.review import Review
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.server import serving
from enstruct.workbench.session import Session
from enstruct.workbench.tag_sequences import TagSequences
from enstruct.workbench.written import Written

COLOURS = 64
"""Of a picture: a page has few, and files stay small."""
SIZE: Any = {"width": 1180, "height": 640}
PEOPLE = ("Ada Lovelace", "Charles Babbage", "Grace Hopper", "Alan Turing", "Emmy Noether")
PLACES = ("London", "Paris", "New York", "Turin")
SETTINGS: dict[str, Any] = {"base": "binary-relevance", "random_state": 0}
Visit = Callable[[Any, Path], Any]


def photograph(folder: Path) -> list[Path]:
    """The pictures, in ``folder``. MissingExtraError without Playwright or Chromium."""
    path = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        raise MissingExtraError(
            "The tour's pictures need Playwright and Chromium: pip install playwright, apt-get install chromium."
        )
    folder.mkdir(parents=True, exist_ok=True)
    taken = []
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name, (visit, scheme) in VISITS.items():
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            with visit(page, Path(place)):
                page.wait_for_timeout(900)
                page.screenshot(path=f"{place}/{name}")
            page.close()
            with Image.open(f"{place}/{name}") as picture:
                picture.convert("RGB").quantize(COLOURS).save(folder / name, optimize=True)
            taken.append(folder / name)
        browser.close()
    return taken


@contextmanager
def _at(
    page: Any, labelling: Labelling, place: Path, name: str, learner: Learner | None = None, review: Review | None = None
) -> Iterator[Session]:
    header = {"task": labelling.task, "data": name, "rows": labelling.n_rows, "names": labelling.names, "content": "tour"}
    answers = place / f"{name}.answers.jsonl"
    answers.unlink(missing_ok=True)
    order = RowOrder(labelling.n_rows, "given")
    with closing(Session(labelling, Journal(answers, header), order, name, learner, review)) as session:
        session.journal.path = Path("answers.jsonl")  # as the page shows it
        with serving(session, "tour" * 8) as address:
            page.goto(address)
            page.locator("main .panel, main .suspect").first.wait_for()
            yield session


def _sets(model: JointMultiLabelClassifier | None, fresh: Dataset) -> LabelSets:
    names = list(fresh.label_names)
    return LabelSets(names, list(map(str, fresh.X)), Contents(fresh), None, Written("songs.csv", lambda: fresh), model)


def _model() -> JointMultiLabelClassifier:
    data = songs(400)
    return JointMultiLabelClassifier(**SETTINGS).fit(list(data.X), data.Y.toarray())


@contextmanager
def _labels(page: Any, place: Path) -> Iterator[None]:
    with _at(page, _sets(_model(), songs(120, seed=5)), place, "new.csv"):
        page.get_by_role("button", name="yes: guitar").click()
        page.locator(".label.yes").wait_for()
        yield


@contextmanager
def _new(page: Any, place: Path) -> Iterator[None]:
    """After forty rows, each told as it was generated, and the fits that they led to."""
    data = songs(120, seed=6)
    names, sets = list(data.label_names), _sets(None, data)
    learner = Learner(sets, np.ones(len(data), dtype=bool), SETTINGS)  # generated in no order
    with _at(page, sets, place, "new.csv", learner) as session:
        for row, has in enumerate(data.Y.toarray()[:40]):
            session.tell(f"t{row}", "me", row, {name: bool(value) for name, value in zip(names, has, strict=True)}, True, None)
            while learner.fitting and row in (19, 39):
                time.sleep(0.1)
        page.reload()
        page.locator(".label").first.wait_for()
        page.locator(".label .yes, [data-part=yes]").first.click()
        page.locator(".label.yes").wait_for()
        page.mouse.wheel(0, 400)
        yield


@contextmanager
def _tags(page: Any, place: Path) -> Iterator[None]:
    rng = np.random.default_rng(0)
    sentences, tags = [], []
    for _ in range(200):
        who, where = str(rng.choice(PEOPLE)), str(rng.choice(PLACES))
        parts = (
            [(who, "PER"), ("lived in", None), (where, "LOC")]
            if rng.random() < 0.5
            else [("From", None), (where, "LOC"), ("wrote", None), (who, "PER")]
        )
        sentences.append([word for text, _ in parts for word in text.split()])
        tags.append(
            [f"{'B' if k == 0 else 'I'}-{kind}" if kind else "O" for text, kind in parts for k, _ in enumerate(text.split())]
        )
    tagger = EnergySequenceTagger("crf", max_epochs=8, random_state=0).fit(sentences, tags)
    fresh = [["From", "Turin", "Emmy", "Noether", "wrote", "to", "Ada", "Lovelace", ",", "who", "lived", "in", "York"]]
    with _at(page, TagSequences(tagger, fresh), place, "letters.conll"):
        page.locator('[data-word="12"]').click()
        page.locator("[data-type=LOC]").click()
        page.locator(".word.told").wait_for()
        yield


@contextmanager
def _masks(page: Any, place: Path) -> Iterator[None]:
    images, masks = ellipses(60, 32, seed=1)
    pictures = [np.repeat((255 * image).astype(np.uint8)[:, :, None], 3, 2) for image in images]
    segmenter = EnergySegmenter("cross-entropy", width=8, max_epochs=12, random_state=0).fit(pictures[:50], list(masks[:50]))
    with _at(page, Masks(segmenter, Pictures([f"ellipse-{k}" for k in range(10)], pictures[50:], None)), place, "pictures"):
        page.wait_for_timeout(500)
        box = page.locator("canvas.over").bounding_box()
        page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.5 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.55 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
        page.mouse.up()
        yield


@contextmanager
def _review(page: Any, place: Path) -> Iterator[None]:
    data, rng = songs(400, seed=3), np.random.default_rng(1)
    Y = data.Y.toarray().astype(np.float64)
    wrong = rng.random(Y.shape) < 0.02
    Y[wrong] = 1 - Y[wrong]
    model = JointMultiLabelClassifier(**SETTINGS).fit(list(data.X), Y)
    names = list(data.label_names)
    sets = LabelSets(names, list(map(str, data.X)), Contents(data), Y, Written("songs.csv", lambda: data))
    with _at(page, sets, place, "songs.csv", review=Review.of(model, names, Y)):
        page.keyboard.press("a")
        page.locator(".answered").wait_for()
        yield


@contextmanager
def _report(page: Any, place: Path) -> Iterator[None]:
    """Of the commands, as a user would type them."""
    if not (place / "report.html").exists():
        for rows, seed, name in ((400, 0, "train.csv"), (300, 9, "test.csv")):
            main(["data", "songs", f"{place}/{name}", "--rows", str(rows), "--seed", str(seed)])
        main(
            [
                "train",
                f"{place}/train.csv",
                "--text",
                "text",
                "--labels",
                "-10",
                "--base",
                "binary-relevance",
                "--out",
                f"{place}/model",
            ]
        )
        main(["report", f"{place}/model", f"{place}/test.csv", "--out", f"{place}/report.html"])
    page.goto((place / "report.html").as_uri())
    page.get_by_role("heading", name="Scores").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#scores, section:nth-of-type(2)')?.scrollIntoView()")
    yield


VISITS: dict[str, tuple[Visit, Any]] = {
    "labels.png": (_labels, "light"),
    "labels-dark.png": (_labels, "dark"),
    "new.png": (_new, "light"),
    "tags.png": (_tags, "light"),
    "masks.png": (_masks, "light"),
    "review.png": (_review, "light"),
    "report.png": (_report, "light"),
    "report-dark.png": (_report, "dark"),
}
"""File -> what is on the page, and in which colours."""
