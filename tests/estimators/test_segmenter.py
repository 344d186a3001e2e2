"""The segmenter on generated pictures: every method, both protocols, several classes, ignored pixels, saving, errors."""

import copy

import numpy as np
import pytest
import torch
from tests.configured import configured

from enstruct import EnergySegmenter
from enstruct.data.synthetic import ellipses
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators.image_format import SHARES
from enstruct.estimators.image_format import pictures as pictures_of
from enstruct.joint import pixels
from enstruct.methods.masks import MASK_METHODS
from enstruct.rules import Soft
from enstruct.rules.masks import Connected, MaskRules, Size, Within
from enstruct.spaces import MaskSpace
from enstruct.training.batches import to_batch

pytestmark = pytest.mark.usefixtures("quick_fields")
of_rows = EnergySegmenter._rows
STEPS = pixels.STEPS
FAST = {"width": 4, "levels": 2, "batch_size": 8, "random_state": 0, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def pictures():
    return ellipses(24, 16, noise=0.3, seed=0)


@pytest.fixture(scope="module")
def fitted(pictures):
    return EnergySegmenter("seal-margin", max_epochs=3, **FAST).fit(*pictures)


@pytest.mark.parametrize("method", MASK_METHODS)
def test_every_method_trains_and_answers(method, pictures):
    model = EnergySegmenter(method, max_epochs=1, **FAST).fit(*pictures)
    p = model.predict_proba(pictures[0][:3])
    assert p.shape == (3, 16, 16, 2)
    assert np.allclose(p.sum(-1), 1, atol=1e-4)
    assert set(np.unique(model.predict(pictures[0]))) <= {0, 1}
    if model.energy_ is not None:
        few = model.energy(pictures[0][:2], pictures[1][:2])
        assert model.energy(*pictures)[:2] == pytest.approx(few, rel=1e-4, abs=1e-4)  # each image by itself
        assert len(set(few)) == 2


def test_it_learns_and_is_deterministic():
    train, test = ellipses(60, 16, noise=0.2, seed=1), ellipses(30, 16, noise=0.2, seed=2)
    models = [EnergySegmenter("cross-entropy", max_epochs=25, **FAST).fit(*train) for _ in range(2)]
    assert models[0].score(*test) > 0.7
    assert np.array_equal(*(model.predict_proba(test[0]) for model in models))


def test_the_crop_protocol(pictures):
    model = EnergySegmenter("seal-regression-s", crop=12, max_epochs=2, **FAST).fit(*pictures)
    steps = -(-19 // FAST["batch_size"])  # 24 images, 5 of them held out; each once an epoch
    assert model.updates_["predictor"] == 2 * steps
    assert model.predict(pictures[0]).shape == pictures[1].shape
    assert model.energy(*pictures).shape == (24,)
    with pytest.raises(DataError, match="smaller than the crops"):
        model.predict(np.zeros((1, 8, 8)))


@pytest.mark.parametrize("crop", [None, 12])
def test_varied_images_are_trained_on_and_no_others_judged(crop, pictures, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(EnergySegmenter, "_rows", lambda *args, **more: seen.append(of_rows(*args, **more)) or seen[-1])
    model = EnergySegmenter("cross-entropy", crop=crop, augment=True, max_epochs=2, **FAST).fit(*pictures)
    train, *judged = seen
    assert train.X.varied
    assert not any(part.X.varied or part.X.places[:, 3].any() for part in judged)
    assert model.updates_["predictor"] == 2 * -(-19 // FAST["batch_size"])
    plain = EnergySegmenter("cross-entropy", crop=crop, max_epochs=2, **FAST).fit(*pictures)
    p = model.predict_proba(pictures[0])
    assert not np.allclose(p, plain.predict_proba(pictures[0]))
    mirrored = model.predict_proba(pictures[0][:, :, ::-1])
    np.testing.assert_allclose(mirrored[:, :, ::-1], p, atol=1e-5)  # answers are of both ways
    assert not np.allclose(plain.predict_proba(pictures[0][:, :, ::-1])[:, :, ::-1], plain.predict_proba(pictures[0]), atol=1e-3)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(EnergySegmenter.load(tmp_path / "model").predict_proba(pictures[0]), p, atol=1e-6)


def test_answers_do_not_depend_on_the_other_images(fitted, pictures):
    alone = np.concatenate([fitted.predict_proba(image[None]) for image in pictures[0][:4]])
    assert np.allclose(fitted.predict_proba(pictures[0][:4]), alone, atol=1e-5)


def test_images_of_other_sizes_are_answered_in_their_own(fitted):
    mixed = [np.random.default_rng(0).random((20, 13)), np.random.default_rng(1).random((16, 16))]
    assert [mask.shape for mask in fitted.predict(mixed)] == [(20, 13), (16, 16)]
    assert [p.shape for p in fitted.predict_proba(mixed)] == [(20, 13, 2), (16, 16, 2)]


def test_images_are_resized_where_asked():
    images, masks = ellipses(20, 30, seed=0)
    model = EnergySegmenter("cross-entropy", size=(10, 10), max_epochs=2, **FAST).fit(images, masks)
    assert model.predict(images).shape == (20, 30, 30)
    assert 0 <= model.score(images, masks) <= 1


def test_several_classes_ignored_pixels_and_colour():
    images, masks = ellipses(20, 16, noise=0.1, seed=0)
    colour = np.stack([images, 1 - images, images], axis=-1)
    three = np.where(masks == 1, 7, 3)
    three[:, :5] = 9
    three[:, -1] = 200
    model = EnergySegmenter("seal-margin", ignore=200, max_epochs=2, **FAST).fit(colour, three)
    assert model.classes_.tolist() == [3, 7, 9]
    assert model.threshold_ is None
    assert set(np.unique(model.predict(colour))) <= {3, 7, 9}
    hidden = three.copy()
    hidden[:, -1] = 200
    assert model.score(colour, three) == model.score(colour, hidden)
    with pytest.raises(ConfigError, match="two classes"):
        model.predict(colour, decision="threshold")
    begin = EnergySegmenter("cross-entropy", ignore=200, decision="threshold", max_epochs=1, **FAST)
    with pytest.raises(ConfigError, match="needs two classes"):
        begin.fit(colour, three)
    assert not hasattr(begin, "predictor_")  # before any training


def test_ignored_pixels_teach_nothing(pictures):
    images, masks = pictures
    hidden = masks.copy()
    hidden[:, :4] = 5
    model = EnergySegmenter("seal-margin", ignore=5, max_epochs=2, **FAST).fit(images, hidden)
    numbers = model.masks_.encode(list(hidden))
    assert (numbers[:, :4] == -1).all()
    rows = model._rows(pictures_of(images, hidden), None)
    batch = to_batch(rows)
    space, logits = MaskSpace(2, "soft-iou"), torch.randn(24, 16, 16, 2)
    other = logits.clone()
    other[:, :4] += 3.0
    assert torch.allclose(space.supervised_loss(logits, batch.y, batch.mask), space.supervised_loss(other, batch.y, batch.mask))
    state = model.energy_.prepare(batch.x, batch.mask)
    relaxed = [space.relax(z).unsqueeze(1) for z in (logits, other)]
    assert torch.allclose(*(model.energy_(state, y) for y in relaxed))
    assert torch.allclose(*(space.cost(y, batch.y, batch.mask) for y in relaxed))


def test_the_decision_is_the_better_one_on_validation_images(fitted, pictures):
    best = max(fitted.decision_scores_, key=fitted.decision_scores_.get)
    assert fitted.decision_ == best
    assert set(fitted.decision_scores_) == set(fitted.rules_) == {"greedy", "threshold"}
    p = fitted.predict_proba(pictures[0])
    assert np.array_equal(fitted.predict(pictures[0], decision="threshold"), p[..., 1] >= fitted.threshold_)


def test_refinement_and_inference(fitted, pictures):
    images = pictures[0][:4]
    refined = fitted.predict_proba(images, refine=3)
    assert refined.shape == (4, 16, 16, 2)
    assert not np.allclose(refined, fitted.predict_proba(images))
    found = fitted.infer(images)
    assert found.y.shape == (4, 16, 16, 2)
    plain = EnergySegmenter("cross-entropy", max_epochs=1, **FAST).fit(*pictures)
    with pytest.raises(ConfigError, match="no energy"):
        plain.predict(images, refine=1)
    with pytest.raises(ConfigError, match="no energy"):
        plain.energy(*pictures)


def test_one_s_own_encoder_and_energy(pictures):
    class Pixels(torch.nn.Module):
        out_features = 3

        def __init__(self, channels):
            super().__init__()
            self.linear = torch.nn.Linear(channels, 3)

        def forward(self, x):
            return self.linear(x)

    spec = EnergySpec(("local", "potts"), features="copied")
    model = EnergySegmenter("seal-margin", encoder=Pixels, energy_network=spec, max_epochs=2, **FAST).fit(*pictures)
    assert model.predict(pictures[0]).shape == pictures[1].shape
    with pytest.raises(ConfigError, match="out_features"):
        EnergySegmenter("cross-entropy", encoder=torch.nn.Identity(), **FAST).fit(*pictures)


class OwnEnergy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = torch.nn.Linear(1, 2)

    def forward(self, x, y):
        assert y.ndim == 5
        assert x.shape[:3] == (len(y), *y.shape[2:4])
        return (y * self.scores(x).unsqueeze(1)).sum((2, 3, 4))


def test_a_value_network_finds_shapes_by_inference():
    """Its optimum lies at masks: with convolutions and dense layers over image and mask it did not, nor by gradients that a fused
    step mixes up."""
    train, test = ellipses(60, 16, noise=0.3, seed=1), ellipses(30, 16, noise=0.3, seed=2)
    model = EnergySegmenter("dvn", width=8, levels=2, max_epochs=30, learning_rate=5e-3, random_state=0).fit(*train)
    assert model.updates_["predictor"] == 0
    assert model.score(*test) > 0.8


def test_a_value_network_with_other_candidates_is_saved_and_finds_nothing_where_nothing_is(tmp_path):
    (images, masks), (others, truth) = ellipses(60, 16, noise=0.3, seed=1), ellipses(30, 16, noise=0.3, seed=2)
    for shown, numbers in ((images, masks), (others, truth)):
        background = np.random.default_rng(len(shown)).normal(0.35, 0.09, shown[::3].shape)
        shown[::3], numbers[::3] = np.clip(background, 0, 1), 0
    method = MASK_METHODS["dvn"].with_(n_samples=24)
    model = EnergySegmenter(method, width=8, levels=2, max_epochs=30, learning_rate=5e-3, random_state=0).fit(images, masks)
    found = model.predict(others)
    assert found[::3].mean() < 0.02
    assert model.score(others, truth) > 0.75
    model.save(tmp_path / "model")
    assert np.array_equal(EnergySegmenter.load(tmp_path / "model").predict(others), found)


def test_the_candidates_of_a_value_network_on_large_images_are_counted():
    with pytest.raises(ConfigError, match=r"The candidates of a batch would take more than .*n_samples="):
        EnergySegmenter("dvn", size=(512, 512), width=1, batch_size=24).fit(*ellipses(30, 4))


@pytest.mark.parametrize("method", ["dvn", "seal-nce"])
def test_inference_on_an_energy_of_one_s_own(method):
    """Whether some pixels have no truth or none: the energy is given images of the same form."""
    images, masks = ellipses(14, size=15, seed=0)
    model = EnergySegmenter(method, energy_network=OwnEnergy(), max_epochs=1, **FAST).fit(images, masks)
    refine = None if method == "dvn" else 2
    found = model.predict(images, refine=refine)
    assert found.shape == masks.shape
    assert np.array_equal(model.predict(images[:2], refine=refine), found[:2])


def test_features_of_another_form_are_explained(pictures):
    class Convolution(torch.nn.Module):
        out_features = 3

        def __init__(self, channels, stride=1):
            super().__init__()
            self.conv = torch.nn.Conv2d(channels, 3, 3, stride, padding=1)

        def forward(self, x):
            return self.conv(x.movedim(-1, 1))

    with pytest.raises(ConfigError, match=r"\(1, 16, 16, 3\) here.*gives \(1, 3, 16, 16\): mend its output"):
        EnergySegmenter("cross-entropy", encoder=Convolution, **FAST).fit(*pictures)
    with pytest.raises(ConfigError, match=r"given pixels as \(1, 16, 16, 1\) of torch.float32; this one fails"):
        EnergySegmenter("cross-entropy", encoder=lambda channels: Convolution(channels).double(), **FAST).fit(*pictures)


def test_saving(fitted, pictures, tmp_path):
    fitted.save(tmp_path / "m", {"note": 1})
    again = EnergySegmenter.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(pictures[0]), fitted.predict_proba(pictures[0]))
    assert np.array_equal(again.energy(*pictures), fitted.energy(*pictures))
    assert np.array_equal(again.predict(pictures[0]), fitted.predict(pictures[0]))
    assert again.notes_ == {"note": 1}
    assert again.history_ == fitted.history_
    sized = EnergySegmenter("cross-entropy", size=(8, 8), ignore=9, max_epochs=1, **FAST).fit(*pictures)
    sized.save(tmp_path / "s")
    assert EnergySegmenter.load(tmp_path / "s").images_.size == (8, 8)
    (tmp_path / "m" / "weights.safetensors").write_bytes(b"")
    with pytest.raises(ModelFileError):
        EnergySegmenter.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("settings", "error", "what"),
    [
        ({"metric": "iuo"}, ConfigError, "pooled-iou"),
        ({"decision": "best"}, ConfigError, "greedy"),
        ({"network": "vgg"}, ConfigError, "unet"),
        ({"size": (0, 3)}, ConfigError, "size must be"),
        ({"size": 16}, ConfigError, "size must be"),
        ({"size": "64"}, ConfigError, "size must be"),
        ({"size": (8, 2.5)}, ConfigError, "size must be"),
        ({"width": 2.5}, ConfigError, "width"),
        ({"crop": 8.5}, ConfigError, "crop"),
        ({"dropout": 2}, ConfigError, "dropout"),
        ({"levels": -1}, ConfigError, "levels"),
        ({"classes": ["a", "b"]}, ConfigError, "classes must be"),
        ({"width": 0}, ConfigError, "width"),
        ({"crop": 0}, ConfigError, "crop"),
        ({"crop": 20}, DataError, "smaller than the crops"),
        ({"validation_fraction": 1.5}, ConfigError, "validation_fraction"),
        ({"method": "spen"}, ConfigError, "seal"),
        ({"energy_network": EnergySpec(("local", "chain"))}, ConfigError, "not for this kind"),
    ],
)
def test_bad_settings(settings, error, what, pictures):
    with pytest.raises(error, match=what):
        configured(EnergySegmenter, **{"method": "seal-margin", "max_epochs": 1, **FAST, **settings}).fit(*pictures)


def test_larger_validation_images_are_watched_whole(pictures):
    images, masks = ellipses(4, 40, seed=3)
    model = EnergySegmenter("cross-entropy", crop=12, max_epochs=20, **FAST).fit(*pictures, None, images, masks)
    rows = model._rows(pictures_of(images, masks), SHARES)
    answers = model._networks().answer(rows.X)
    assert answers.shape == (4, 40, 40, 2)
    assert np.allclose(answers.sum(-1), 1, atol=1e-4)
    found, truth = answers[..., 1] >= 0.5, masks > 0
    overlap = (found & truth).sum((1, 2)) / (found | truth).sum((1, 2))
    assert max(record["score"] for record in model.history_) == pytest.approx(overlap.mean(), abs=1e-6)
    assert overlap.mean() > 0.1


def test_a_fit_that_fails_leaves_the_segmenter_as_it_was(pictures):
    images, masks = pictures
    made = EnergySegmenter("cross-entropy", max_epochs=1, **FAST).fit(images, masks)
    before = made.predict(images[:2])
    with pytest.raises(ConfigError):
        made.set_params(learning_rate=-1).fit(images, [mask * 7 + 3 for mask in masks])
    assert all(np.array_equal(a, b) for a, b in zip(made.predict(images[:2]), before, strict=True))
    made.set_params(learning_rate=0.01, width=made.width + 1)
    with pytest.raises(ConfigError, match="made with another width"):
        made.save("nowhere")


def test_a_size_may_be_a_list(pictures):
    listed, pair = (
        EnergySegmenter("cross-entropy", size=size, max_epochs=1, **FAST).fit(*pictures) for size in ([12, 12], (12, 12))
    )
    found = listed.predict_proba(pictures[0])
    assert found.shape == (*pictures[1].shape, 2)
    assert np.array_equal(found, pair.predict_proba(pictures[0]))


def test_bad_data(pictures):
    images, masks = pictures
    with pytest.raises(DataError, match=r"one image goes in a list"):
        EnergySegmenter("cross-entropy", max_epochs=1, **FAST).fit(images, masks).predict(np.zeros((16, 20, 3)))
    with pytest.raises(DataError, match="24 images and 23 masks"):
        EnergySegmenter().fit(images, masks[:-1])
    with pytest.raises(DataError, match="0 everywhere"):
        EnergySegmenter().fit(images, 0 * masks)
    with pytest.raises(DataError, match="too few"):
        EnergySegmenter().fit(images[:2], masks[:2])
    with pytest.raises(ConfigError, match="both"):
        EnergySegmenter().fit(images, masks, X_val=images)


def test_some_masks_may_be_all_background(pictures):
    images, masks = pictures
    some = masks.copy()
    some[:10] = 0
    model = EnergySegmenter("seal-regression", max_epochs=1, **FAST).fit(images, some, None, images[:4], some[:4])
    assert np.isfinite(model.history_[-1]["energy_loss"])
    assert 0 <= model.score(images[:4], some[:4]) <= 1


def test_classes_as_an_array_and_validation_without_a_pixel(pictures):
    images, masks = pictures
    model = EnergySegmenter("cross-entropy", max_epochs=1, classes=np.arange(3), **FAST).fit(images, masks)
    assert model.predict_proba(images[:1]).shape[-1] == 3
    with pytest.raises(DataError, match="Every pixel of the validation masks is ignored"):
        model.set_params(ignore=255).fit(images, masks, None, images[:2], np.full_like(masks[:2], 255))


def test_few_images_take_fewer_updates_and_others_as_many_as_ever():
    model = EnergySegmenter()
    for n in (24, 30, 1000):
        found, steps = model._settings(n), -(-n // 16)
        assert (found.max_epochs, found.patience) == (max(100, -(-2000 // steps)), max(20, -(-400 // steps)))
    assert model._settings(3).max_epochs == 100
    assert model._settings(1).max_epochs == 42


def test_told_pixels_come_back_as_told_and_speak_for_others(tmp_path, monkeypatch):
    monkeypatch.setattr(pixels, "STEPS", STEPS)  # a field that has learnt
    train, (images, masks) = ellipses(40, 16, noise=0.3, seed=1), ellipses(12, 16, noise=0.3, seed=2)
    model = EnergySegmenter("cross-entropy", max_epochs=12, **FAST).fit(*train)
    known = np.full(masks.shape, np.nan)
    rng = np.random.default_rng(0)
    some = rng.random(masks.shape) < 0.05
    some[3] = False
    known[some] = masks[some]
    given, alone = model.predict(images, known=known), model.predict(images)
    assert (given[some] == masks[some]).all()
    assert np.array_equal(given[3], alone[3])  # of which nothing is told
    others = ~some
    others[3] = False
    assert (given == masks)[others].mean() > (model.predict(images, decision="greedy") == masks)[others].mean()
    p = model.predict_proba(images, known=known)
    assert set(np.unique(p[some])) == {0, 1}
    np.testing.assert_allclose(p.sum(-1), 1, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(images[2:3], known=known[2:3])[0], p[2], atol=1e-5)
    masked = np.ma.masked_array(masks, ~some)
    assert np.array_equal(model.predict(images, known=masked), given)
    model.save(tmp_path / "m")
    assert np.array_equal(EnergySegmenter.load(tmp_path / "m").predict_proba(images, known=known), p)


def test_what_cannot_be_told_of_pixels_is_refused(pictures, fitted):
    images, masks = pictures
    nothing = np.full(masks.shape, np.nan)
    with pytest.raises(DataError, match="24 images and 3 in known"):
        fitted.predict(images, known=nothing[:3])
    with pytest.raises(DataError, match=r"known 0 is \(8, 16\), its image \(16, 16\)"):
        fitted.predict(images, known=nothing[:, :8])
    nothing[5, 2, 7] = 3
    with pytest.raises(DataError, match="known 5 has 3 at row 2, column 7, which is no class"):
        fitted.predict_proba(images, known=nothing)
    with pytest.raises(DataError, match="known 0 must be a mask of numbers"):
        fitted.predict(images, known=[{}] * len(images))
    assert np.array_equal(fitted.predict(images, known=[None] * len(images)), fitted.predict(images, known=nothing * np.nan))


def test_a_told_pixel_leaves_the_threshold_in_force(pictures, fitted):
    images, masks = pictures
    model = copy.copy(fitted)
    model.threshold_, model.decision_ = 0.2, "threshold"
    told = np.full(masks.shape, np.nan)
    told[:, 0, 0] = masks[:, 0, 0]
    given = model.predict_proba(images, known=told)
    assert np.array_equal(model.predict(images, known=told) == model.classes_[1], given[..., 1] >= 0.2)
    assert np.array_equal(
        model.predict(images, known=told, decision="greedy") == model.classes_[1], given[..., 1] > given[..., 0]
    )


def test_rules_count_what_a_pixel_is_worth_from_the_threshold(fitted):
    """The larger piece stays, though none of its pixels is likely."""
    model = copy.copy(fitted)
    model.threshold_, model.rules = 0.3, [Connected(fitted.classes_[1])]
    p = np.full((6, 10, 2), [0.95, 0.05])
    p[1:5, 1:6], p[3, 8] = [0.6, 0.4], [0.69, 0.31]
    found = model._decided(p, "threshold")
    assert found[1:5, 1:6].all()
    assert found.sum() == 20


def test_told_pixels_in_images_of_many_sizes_and_classes(pictures):
    images, masks = pictures
    three = masks + (np.arange(16) > 11)[None, :, None] * (1 - masks) * 2
    model = EnergySegmenter("cross-entropy", max_epochs=2, size=(12, 12), **FAST).fit(list(images), list(three))
    known = [np.full(mask.shape, np.nan) for mask in (three[0], three[1][:10])]
    known[0][4, 4], known[1][0, 0] = 2, 1
    answers = model.predict([images[0], images[1][:10]], known=known)
    assert [answer.shape for answer in answers] == [(16, 16), (10, 16)]
    assert (answers[0][4, 4], answers[1][0, 0]) == (2, 1)


def test_no_mask_breaks_a_rule(tmp_path, pictures):
    images, masks = pictures
    rules = [Connected(1), Size(1, 0.05, 0.3)]
    model = EnergySegmenter("cross-entropy", max_epochs=2, rules=rules, **FAST).fit(images, masks)
    model.save(tmp_path / "m")
    known = np.full(masks.shape, np.nan)
    known[:, 8, 8] = masks[:, 8, 8]
    for one in (model, EnergySegmenter.load(tmp_path / "m")):
        for answer in (one.predict(images), one.predict(images, known=known), one.predict(images, decision="greedy")):
            assert all(MaskRules.of(rules, (0, 1)).are_kept(mask) for mask in answer)
        assert all(0.04 < p[..., 1].mean() < 0.31 for p in one.predict_proba(images))
    preferred = model.set_params(rules=[Soft(Size(1, 0.9, 1.0), 1e9), Soft(Connected(1), 0.5)])
    preferred.save(tmp_path / "m")
    for answer in EnergySegmenter.load(tmp_path / "m").predict(images):
        assert answer.mean() >= 0.9
    preferred.set_params(rules=Soft(Size(1, 0.9, 1.0), 1e-3))
    assert np.array_equal(preferred.predict(images), preferred.set_params(rules=None).predict(images))
    with pytest.raises(ConfigError, match="Unknown class '7'"):
        EnergySegmenter("cross-entropy", max_epochs=1, rules=Connected(7), **FAST).fit(images, masks)
    with pytest.raises(ConfigError, match="rules"):
        EnergySegmenter("cross-entropy", rules="connected", **FAST).fit(images, masks)


def test_masks_in_classes_of_its_own_are_taken_for_what_they_are():
    """Greys are cut where training says; what predict gives is classes already."""
    images, masks = ellipses(10, 12, seed=0)
    model = EnergySegmenter("seal-nce", binarise=128, width=4, max_epochs=1, random_state=0)
    model.fit(images, [255 * mask for mask in masks])
    np.testing.assert_allclose(model.energy(images, masks), model.energy(images, [255 * mask for mask in masks]))
    assert not np.allclose(model.energy(images, masks), model.energy(images, [0 * mask for mask in masks]))
    assert model.score(images, model.predict(images)) == pytest.approx(1.0)


def test_the_mask_that_is_wrong_is_named():
    images, masks = ellipses(4, 12, seed=0)
    model = EnergySegmenter("cross-entropy", width=4, max_epochs=1, random_state=0).fit(images, masks)
    wrong = [*masks[:2], np.where(masks[2], 5, 0), masks[3]]
    with pytest.raises(DataError, match="Mask 2 holds the value 5"):
        model.score(images, wrong)


def test_without_a_pixel_of_background_greys_are_cut_too_low():
    images, masks = ellipses(4, 12, seed=0)
    with pytest.raises(DataError, match="The smallest value there is 200: choose binarise= above it"):
        EnergySegmenter("cross-entropy", binarise=10, max_epochs=1).fit(images, [np.where(mask, 255, 200) for mask in masks])
    with pytest.raises(DataError, match=r"No training mask .* The largest value there is 90: choose binarise= below it"):
        EnergySegmenter("cross-entropy", binarise=128, max_epochs=1).fit(images, [90 * mask for mask in masks])


def test_rules_that_the_first_pass_breaks_often_are_refused():
    images, masks = ellipses(8, 12)
    with pytest.raises(DataError, match="training masks that it is about break the rule"):
        EnergySegmenter("cross-entropy", rules=Size(1, 0.9, 1.0), **FAST).partial_fit(images, masks)
    with pytest.raises(ConfigError, match="No mask"):
        EnergySegmenter("cross-entropy", rules=[Size(1, 0.9, 1.0), Within(1, bottom=0.1)], **FAST).partial_fit(images, masks)
