"""One small joint, on songs whose mood and instruments hang together, for all tests of the workbench."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.generated_songs import HEADER, LABELS, songs, write_songs

from enstruct import EnergySegmenter, JointMultiLabelClassifier
from enstruct.data.image_folders import Pictures
from enstruct.data.synthetic import ellipses
from enstruct.data.tables.read import read_table
from enstruct.rules import Excludes, Implies
from enstruct.workbench.contents import Contents
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.session import Session
from enstruct.workbench.written import Written


@pytest.fixture(scope="session")
def model():
    """By names, under a rule."""
    X, Y = songs(160)
    rules = [Excludes("calm", "sad"), Implies("happy", "guitar")]
    sets = [
        [name for name, there in zip(LABELS, row, strict=True) if there] for row in np.where(Y[:, [1]] & [0, 0, 0, 0, 1, 0], 1, Y)
    ]
    joint = JointMultiLabelClassifier(LogisticRegression(), folds=2, rules=rules, random_state=0).fit(X, sets)
    assert joint.classes_.tolist() == sorted(LABELS)
    return joint


@pytest.fixture
def data(tmp_path):
    """30 unlabelled rows in a CSV file, read."""
    return read_table(write_songs(tmp_path / "new.csv", 30, seed=5, labelled=False), ())


@pytest.fixture
def session(tmp_path, data, model):
    """The 30 rows as they stand, with the joint at one's side."""
    names = sorted(LABELS)
    sets = LabelSets(names, data.X, Contents(data), None, Written(str(tmp_path / "new.csv"), lambda: data), model)
    made = Session(sets, Journal(tmp_path / "answers.jsonl", HEADER), RowOrder(30, "given"), "new.csv")
    yield made
    made.close()


@pytest.fixture(scope="session")
def segmenter_and_pictures():
    images, masks = ellipses(24, 16, 0.3, 0)
    images = [(255 * image).astype(np.uint8) for image in images]
    images = [np.repeat(image[:, :, None], 3, 2) if image.ndim == 2 else image for image in images]
    model = EnergySegmenter("cross-entropy", width=4, levels=2, max_epochs=2, random_state=0).fit(images, list(masks.astype(int)))
    return model, Pictures([f"p{k}" for k in range(4)], images[:4], None)
