"""Folders of images and masks in the forms people have them."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile

from enstruct.data.image_folders import (
    load_picture_parts,
    load_pictures,
    near_duplicate_pictures,
    read_image,
    read_mask,
    read_pictures,
)
from enstruct.errors import DataError, DatasetNotFoundError, ParseError

RNG = np.random.default_rng(0)


def write(path, grid, mode=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grid.astype(np.uint8), mode).save(path)


def make_folder(folder, n=6, size=(8, 10), start=0, suffix="png", mask_name="{}"):
    rng = np.random.default_rng(start)
    for i in range(start, start + n):
        write(folder / "images" / f"{i:03d}.{suffix}", rng.integers(256, size=(*size, 3)))
        write(folder / "masks" / f"{mask_name.format(f'{i:03d}')}.png", 255 * rng.integers(2, size=size))
    return folder


def test_pairs_go_by_name_whatever_the_suffix(tmp_path):
    data = read_pictures(make_folder(tmp_path, suffix="jpg", mask_name="{}_mask"))
    assert data.names == [f"{i:03d}" for i in range(6)]
    assert data.images[0].shape == (8, 10, 3)
    assert set(np.unique(data.masks[0])) == {0, 255}
    assert read_pictures(tmp_path, labelled=False).masks is None
    with pytest.raises(DataError, match="no masks"):
        read_pictures(tmp_path / "images").truth()


def test_parts_as_given_or_drawn(tmp_path):
    for start, part in ((0, "train"), (10, "val"), (20, "test")):
        make_folder(tmp_path / "given" / part, start=start)
    parts = load_picture_parts(str(tmp_path / "given"))
    assert [data.names[0] for data in (parts.train, parts.validation, parts.test)] == ["000", "010", "020"]
    assert load_pictures(str(tmp_path / "given"), "validation").names[0] == "010"
    drawn = load_picture_parts(str(make_folder(tmp_path / "one", n=10)), seed=3)
    names = [data.names for data in (drawn.train, drawn.validation, drawn.test)]
    assert [len(n) for n in names] == [6, 2, 2]
    assert len({name for part in names for name in part}) == 10
    with pytest.raises(DatasetNotFoundError, match="no folder"):
        load_picture_parts(str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFoundError, match="neither"):
        load_pictures(str(tmp_path), "test")
    with pytest.raises(DataError, match="too few"):
        load_picture_parts(str(make_folder(tmp_path / "few", n=3)))


def test_images_become_rgb(tmp_path):
    grey = np.arange(12).reshape(3, 4) * 20
    write(tmp_path / "grey.png", grey)
    assert np.array_equal(read_image(tmp_path / "grey.png"), np.repeat(grey[..., None], 3, axis=2))
    clear = np.zeros((3, 4, 4))
    clear[0, 0] = [10, 20, 30, 255]
    write(tmp_path / "clear.png", clear)
    assert read_image(tmp_path / "clear.png")[0, 0].tolist() == [10, 20, 30]
    assert (read_image(tmp_path / "clear.png")[1:] == 255).all()  # laid over white
    Image.fromarray((grey * 257).astype(np.uint16)).save(tmp_path / "deep.png")
    assert np.array_equal(read_image(tmp_path / "deep.png")[..., 0], grey)
    for kind in (np.float32, np.int32):
        Image.fromarray(grey.astype(kind)).save(tmp_path / "odd.tiff")
        with pytest.raises(ParseError, match="fractions, or of numbers of 32 bits"):
            read_image(tmp_path / "odd.tiff")


def test_masks_are_numbers(tmp_path):
    numbers = np.array([[0, 1], [2, 1]])
    palette = Image.fromarray(numbers.astype(np.uint8), "P")
    palette.putpalette([200, 0, 0, 0, 200, 0, 0, 0, 200])
    palette.save(tmp_path / "palette.png")
    assert np.array_equal(read_mask(tmp_path / "palette.png"), numbers)
    Image.fromarray(numbers == 1).save(tmp_path / "bits.png")
    assert np.array_equal(read_mask(tmp_path / "bits.png"), numbers == 1)
    grey = np.repeat(numbers[..., None], 3, axis=2)
    write(tmp_path / "rgb.png", grey)
    assert np.array_equal(read_mask(tmp_path / "rgb.png"), numbers)
    write(tmp_path / "rgba.png", np.concatenate([grey, np.full((2, 2, 1), 255)], axis=2))
    assert np.array_equal(read_mask(tmp_path / "rgba.png"), numbers)
    seen = np.concatenate([grey, np.arange(4).reshape(2, 2, 1)], axis=2)
    write(tmp_path / "clear.png", seen)
    with pytest.raises(ParseError, match="transparent parts"):
        read_mask(tmp_path / "clear.png")
    write(tmp_path / "colours.png", RNG.integers(256, size=(2, 2, 3)))
    with pytest.raises(ParseError, match="4 colours"):
        read_mask(tmp_path / "colours.png")


def test_folders_below_are_named(tmp_path, caplog):
    folder = make_folder(tmp_path / "a")
    assert len(read_pictures(folder)) == 6
    assert not caplog.text
    (folder / "images" / "more").mkdir()
    for suffix in ("png", "jpg"):  # which could not be read themselves
        write(folder / "images" / "more" / f"x.{suffix}", np.zeros((8, 10, 3)))
    read_pictures(folder)
    assert "images in folders below it are not read (more)" in caplog.text


def test_sixteen_bits_of_which_few_are_used_would_be_black(tmp_path):
    for most, name in ((4000, "dark"), (60_000, "bright"), (0, "empty")):
        Image.fromarray(np.full((4, 4), most, dtype=np.uint16)).save(tmp_path / f"{name}.png")
    with pytest.raises(ParseError, match="4000 of 65535 is the most: in 8 bits it would be black"):
        read_image(tmp_path / "dark.png")
    assert read_image(tmp_path / "bright.png").max() == 233
    assert read_image(tmp_path / "empty.png").max() == 0


def test_files_that_do_not_fit(tmp_path):
    folder = make_folder(tmp_path / "a")
    (folder / "masks" / "003.png").unlink()
    with pytest.raises(DataError, match="1 images have no mask of their name: 003"):
        read_pictures(folder)
    (folder / "images" / "003.png").unlink()
    write(folder / "masks" / "099.png", np.zeros((8, 10)))
    with pytest.raises(DataError, match="1 masks have no image of their name: 099"):
        read_pictures(folder)
    (folder / "masks" / "099.png").unlink()
    write(folder / "masks" / "001.png", np.zeros((8, 9)))
    with pytest.raises(ParseError, match=r"001\.png: is 8x9, but its image 001\.png is 8x10"):
        read_pictures(folder)
    (folder / "images" / "001.png").write_bytes(b"no picture")
    with pytest.raises(ParseError, match="cannot be read"):
        read_pictures(folder)
    write(folder / "images" / "001.jpg", np.zeros((8, 10, 3)))
    with pytest.raises(DataError, match=r"both 001\.jpg and 001\.png"):
        read_pictures(folder)
    twice = make_folder(tmp_path / "twice")
    write(twice / "masks" / "001_mask.png", np.zeros((8, 10)))
    with pytest.raises(DataError, match=r"two masks of the image 001"):
        read_pictures(twice)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no images"):
        read_pictures(tmp_path / "empty")


def test_near_duplicates_are_found_across_parts_and_mirrored(tmp_path):
    folder = make_folder(tmp_path / "s", n=20, size=(24, 24))
    parts = load_picture_parts(str(folder))
    assert near_duplicate_pictures(parts) == []
    parts.test.images[0] = np.clip(parts.train.images[2].astype(int) + 3, 0, 255).astype(np.uint8)
    parts.test.images[1] = parts.train.images[4][:, ::-1]
    pairs = {(pair["first"], pair["second"]) for pair in near_duplicate_pictures(parts)}
    assert pairs == {(parts.train.names[2], parts.test.names[0]), (parts.train.names[4], parts.test.names[1])}


def test_the_known_near_duplicates_of_the_horses(real_data):
    parts = load_picture_parts("weizmann32")
    assert [len(part) for part in vars(parts).values()] == [160, 40, 128]
    pairs = {frozenset((int(p["first"]), int(p["second"]))) for p in near_duplicate_pictures(parts) if p["in"] != p["also in"]}
    assert pairs == {frozenset(pair) for pair in ((3, 145), (5, 17), (70, 218), (239, 273))}


def short_header(raw):
    """Of a PNG, with a right checksum."""
    return raw[:8] + (12).to_bytes(4, "big") + raw[12:28] + zlib.crc32(raw[12:28]).to_bytes(4, "big") + raw[29:]


def as_fractions(tag):
    """A TIFF that declares these numbers as fractions."""

    def damage(raw):
        at, wrong = int.from_bytes(raw[4:8], "little"), bytearray(raw)
        for entry in range(at + 2, at + 2 + 12 * int.from_bytes(raw[at : at + 2], "little"), 12):
            if int.from_bytes(raw[entry : entry + 2], "little") == tag:
                wrong[entry + 2] = 5
        return bytes(wrong)

    return damage


@pytest.mark.filterwarnings("ignore")  # Pillow's own
@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        ("png", short_header),
        ("bmp", lambda raw: raw[:46] + (300).to_bytes(4, "little") + raw[50:]),
        ("tif", as_fractions(256)),  # the width
        ("tif", as_fractions(273)),  # where strips begin
        ("tif", lambda raw: raw[:60]),
        ("jpg", lambda raw: raw[:200]),
    ],
)
def test_whatever_is_wrong_with_an_image_its_file_is_named(tmp_path, suffix, damage):
    path = tmp_path / f"a.{suffix}"
    write(path, RNG.integers(256, size=(6, 5)))
    path.write_bytes(damage(path.read_bytes()))
    for read in (read_image, read_mask):
        with pytest.raises(ParseError, match=rf"a\.{suffix}: cannot be read as an image"):
            read(path)


@pytest.mark.parametrize("error", [SyntaxError, struct.error, OverflowError, KeyError, MemoryError])
def test_pillow_s_errors_are_the_reader_s(tmp_path, monkeypatch, error):
    write(tmp_path / "a.png", np.zeros((3, 3)))

    def convert(self, mode):
        raise error("out of sorts")

    monkeypatch.setattr(Image.Image, "convert", convert)
    with pytest.raises(ParseError, match=r"a\.png: cannot be read as an image \('?out of sorts'?\)"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize("side", [9_000, 13_000, 30_000])
def test_images_are_refused_by_their_header(tmp_path, monkeypatch, side):
    """Pillow itself warns of the second and refuses the third."""
    write(tmp_path / "a.png", np.zeros((1, 1)))
    raw = bytearray((tmp_path / "a.png").read_bytes())
    raw[16:24] = 2 * side.to_bytes(4, "big")
    raw[29:33] = zlib.crc32(raw[12:29]).to_bytes(4, "big")
    (tmp_path / "a.png").write_bytes(raw)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("decoded"))
    for read in (read_image, read_mask):
        with pytest.raises(ParseError, match=r"a\.png: .*pixels"):
            read(tmp_path / "a.png")


def test_sixteen_bits_become_eight_as_in_double_precision(tmp_path):
    values = np.arange(2**16).reshape(256, 256)
    Image.fromarray(values.astype(np.uint16)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png")[..., 0], (values / 257).round())


def test_a_picture_is_read_by_the_readers_of_its_kinds_alone(tmp_path):
    """What is PostScript inside would begin an interpreter."""
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n")
    with pytest.raises(ParseError, match="cannot identify image file"):
        read_image(tmp_path / "a.png")
