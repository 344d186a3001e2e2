"""Commands for masks as a user types them."""

import json

import numpy as np
import pytest
from PIL import Image
from tests.generated import FAST_SEGMENTER as FAST
from tests.generated import write_picture_parts

from enstruct.cli.main import main
from enstruct.data.catalogue import PICTURES
from enstruct.data.image_folders import has_parts, read_mask, read_pictures
from enstruct.estimators import EnergySegmenter

pytestmark = pytest.mark.usefixtures("quick_fields")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_picture_parts(tmp_path)


def test_train_predict_evaluate_picture(files, capsys):
    assert main(["train", "set", "--out", "model", *FAST]) == 0
    assert sorted(p.name for p in files.iterdir()) == ["model", "set"]
    model, test = EnergySegmenter.load("model"), read_pictures("set/test")
    for own in ("set/test/masks", "set/test/images"):
        assert main(["predict", "model", "set/test/images", "--out", own]) == 2
        assert "over the images or masks themselves" in capsys.readouterr().err
    assert main(["predict", "model", "set/test/images", "--out", "found", "--probabilities"]) == 0
    assert sorted(p.suffix for p in (files / "found").iterdir()) == [".npy"] * 8 + [".png"] * 8
    for name, mask, p in zip(test.names, model.predict(test.images), model.predict_proba(test.images), strict=True):
        assert np.array_equal(read_mask(files / "found" / f"{name}.png"), mask)
        assert np.allclose(np.load(files / "found" / f"{name}.npy"), p)
    assert main(["evaluate", "model", "set", "--json", "figures.json"]) == 0
    assert "no test" not in capsys.readouterr().out
    assert main(["evaluate", "model", "set", "--part", "train"]) == 0
    assert "this is no test" in capsys.readouterr().out
    assert main(["evaluate", "model", "./set/", "--part", "train"]) == 0
    assert "this is no test" in capsys.readouterr().out
    figures = json.loads((files / "figures.json").read_text())["rules"]
    assert figures[model.decision_]["iou"] == pytest.approx(model.score(test.images, test.masks))
    assert main(["predict", "model", "set/test/images", "--out", "set/test/images"]) == 2
    assert "over the images or masks themselves" in capsys.readouterr().err
    before = {path: path.read_bytes() for path in (files / "set").rglob("*.png")}
    for source, out in (("set", "set/test/images"), ("set", "set/test/masks"), ("set/train", "set/train/masks")):
        assert main(["predict", "model", source, "--out", out]) == 2, (source, out)
    assert {path: path.read_bytes() for path in (files / "set").rglob("*.png")} == before
    assert main(["predict", "model", "nope", "--out", "found"]) == 2
    assert "There is no folder nope" in capsys.readouterr().err
    assert main(["evaluate", "model", "set", "--images", "[0,99]", "--pictures", "grid"]) == 2
    assert main(["evaluate", "model", "set", "--images", "[0,3]", "--pictures", "grid"]) == 0
    with Image.open(files / "grid" / "masks.png") as picture:
        assert picture.size[1] > 100


def test_a_folder_without_parts(files, capsys):
    assert main(["train", "set/train", "--out", "model", *FAST, "--model.crop", "12", "--model.method", "cross-entropy"]) == 0
    assert main(["predict", "model", "set", "--part", "test", "--out", "found"]) == 0
    assert len(list((files / "found").iterdir())) == 8
    assert main(["evaluate", "model", "set/train"]) == 0
    assert "this is no test" in capsys.readouterr().out
    assert main(["evaluate", "model", "set/test", "--images", "[50]", "--pictures", "p"]) == 2
    assert "numbered from 0" in capsys.readouterr().err


def test_a_named_set_without_parts_is_not_validated_on_itself(files, monkeypatch, capsys):
    monkeypatch.setenv("ENSTRUCT_DATA", str(files))
    monkeypatch.setitem(PICTURES, "weizmann32", "set/train")
    assert not has_parts("weizmann32")
    parts_of_fit, fit = [], EnergySegmenter.fit
    monkeypatch.setattr(EnergySegmenter, "fit", lambda self, **parts: parts_of_fit.append({*parts}) or fit(self, **parts))
    assert main(["train", "weizmann32", "--out", "m", *FAST, "--model.crop", "12", "--model.method", "cross-entropy"]) == 0
    assert parts_of_fit == [{"X", "y"}]  # a part of them is held out
    capsys.readouterr()
    assert main(["evaluate", "m", "weizmann32"]) == 0
    assert "this is no test" in capsys.readouterr().out


def test_near_duplicates(files, capsys):
    assert main(["data", "duplicates", "set"]) == 0
    assert "0 pairs" in capsys.readouterr().out
    source = sorted((files / "set" / "train" / "images").iterdir())[0]
    target = sorted((files / "set" / "test" / "images").iterdir())[0]
    target.write_bytes(source.read_bytes())
    assert main(["data", "duplicates", "set"]) == 0
    out = capsys.readouterr().out
    assert "1 pairs, 1 of them across parts" in out
    assert source.stem in out


def test_errors(files, capsys):
    assert main(["train", "nowhere", "--task", "masks", "--out", "m"]) == 2
    assert "no folder nowhere" in capsys.readouterr().err
    (files / "set" / "train" / "masks" / "0-03.png").unlink()
    assert main(["train", "set", "--out", "m"]) == 2
    assert "no mask of their name: 0-03" in capsys.readouterr().err
    assert not (files / "m").exists()


def test_marked_pixels(files, capsys):
    assert main(["train", "set", "--out", "model", *FAST, "--model.binarise", "128"]) == 0
    model, test = EnergySegmenter.load("model"), read_pictures("set/test")
    (files / "marks").mkdir()
    grey = np.full(test.masks[0].shape, 127, dtype=np.uint8)
    grey[2, 3:6], grey[9, 9] = 255, 0
    Image.fromarray(grey).save(files / "marks" / f"{test.names[0]}.png")
    clear = np.zeros((*grey.shape, 4), dtype=np.uint8)
    clear[4, 4] = 255
    Image.fromarray(clear, "RGBA").save(files / "marks" / f"{test.names[3]}.png")
    known = np.full((8, *grey.shape), np.nan)
    known[0, 2, 3:6], known[0, 9, 9], known[3, 4, 4] = 1, 0, 1
    predict = ["predict", "model", "set/test/images", "--known", "marks", "--out"]
    assert main([*predict, "found", "--probabilities"]) == 0
    p = model.predict_proba(test.images, known=known)
    for name, mask, each in zip(test.names, model.predict(test.images, known=known), p, strict=True):
        assert np.array_equal(read_mask(files / "found" / f"{name}.png"), mask)
        assert np.allclose(np.load(files / "found" / f"{name}.npy"), each)
    assert read_mask(files / "found" / f"{test.names[0]}.png")[2, 3:6].tolist() == [1, 1, 1]
    for folder, write, message in (
        ("none", None, "no folder none"),
        ("empty", lambda folder: None, "there is no file"),
        ("other", lambda folder: Image.fromarray(grey).save(folder / "other.png"), "other.png goes with no image"),
        (
            "small",
            lambda folder: Image.fromarray(grey[:4]).save(folder / f"{test.names[1]}.png"),
            "has 4 rows and 16 columns, but its image 16 and 16: save it",
        ),
        ("colours", lambda folder: Image.new("RGB", (16, 16), "red").save(folder / f"{test.names[1]}.png"), "in colours"),
    ):
        if write is not None:
            (files / folder).mkdir()
            write(files / folder)
        assert main([*predict[:4], folder, "--out", "again"]) == 2
        assert message in capsys.readouterr().err
        assert not (files / "again").exists()
    plain = ["train", "set", "--out", "plain", *FAST]
    assert main(plain) == 0
    (files / "odd").mkdir()
    grey[2, 3] = 50
    Image.fromarray(grey).save(files / "odd" / f"{test.names[1]}.png")
    assert main(["predict", "plain", "set/test/images", "--known", "odd", "--out", "again"]) == 2
    assert f"odd/{test.names[1]}: the grey 50 at row 2, column 3" in " ".join(capsys.readouterr().err.split())


def test_rules(files, capsys):
    train = ["train", "set", "--out", "model", *FAST, "--model.binarise", "128", "--rules", "rules.txt"]
    (files / "rules.txt").write_text("connected 1\nsize 1: 1% to 60%\nsoft 0.5: size 1: 90% to 100%\n")
    assert main(train) == 0
    said = capsys.readouterr().out
    assert "rule: 1 is in 1 piece at most (broken in 0 of the 20 masks that it is about)" in said
    assert "rule: 0.5 nats: 1 is 90 to 100% of the image (broken in 20 of the 20 masks that it is about)" in said
    assert main(["predict", "model", "set/test/images", "--out", "found"]) == 0
    for path in (files / "found").iterdir():
        assert 0.01 <= (read_mask(path) == 1).mean() <= 0.6
    for line, message in (
        ("connected 255", "Unknown class '255'"),
        (
            "within 1: rows 0% to 10%",
            "20 of the 20 training masks that it is about break the rule 1 lies in 0 to 10% of the rows",
        ),
        ("small", "rules.txt, line 1: 'small' is no rule over masks"),
    ):
        (files / "rules.txt").write_text(f"{line}\n")
        assert main([*train[:3], "other", *train[4:]]) == 2
        assert message in capsys.readouterr().err
        assert not (files / "other").exists()
