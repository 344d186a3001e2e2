"""Saved models on a hub of Hugging Face, by huggingface_hub's own mixin. Needs ``pip install 'enstruct[hub]'``.

    HubModel(model).push_to_hub("me/songs")
    HubModel.from_pretrained("me/songs").model

A repository holds the folder that ``save`` writes, as ``model``, and a card: what the model was fitted to, its rules, scores and
versions. Where a folder holds such a card it is written anew with the model; one without its mark is its owner's, and stays.
Loading runs no code of the repository's. Nothing is fetched but by ``from_pretrained`` of a name that is no folder.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from enstruct.errors import ConfigError, MissingExtraError, ModelFileError
from enstruct.estimators import (
    AutoMultiLabelClassifier,
    EnergyMultiLabelClassifier,
    EnergySegmenter,
    EnergySequenceTagger,
    JointMultiLabelClassifier,
)
from enstruct.estimators.persistence import AUTOMATIC, HEADER, JOINT, read_header

try:
    from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
except ImportError as error:
    raise MissingExtraError(f"A hub needs huggingface_hub ({error}): pip install 'enstruct[hub]'.") from error

FOLDER, CARD = "model", "README.md"
MARK = "<!-- Of the model beside it, and written anew with it by enstruct: a card without this line stays as it is. -->"
LABELS_SHOWN = 20
ESTIMATORS: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(AutoMultiLabelClassifier, EnergyMultiLabelClassifier, JointMultiLabelClassifier),
        *(EnergySequenceTagger, EnergySegmenter),
    )
}
"""By the names that folders say they hold."""
KINDS = {"EnergySequenceTagger": "token-classification", "EnergySegmenter": "image-segmentation"}
"""The hub's names of tasks; it has none for label sets of tables."""


def load(folder: Path | str, **code: Any) -> Any:
    """A model of whatever estimator the folder holds. ``code``: what ``save`` could only name. ModelFileError."""
    folder = Path(folder)
    name = next((name for name in (AUTOMATIC, JOINT) if (folder / name).is_file()), HEADER)
    estimator = read_header(folder, name)["estimator"]
    if estimator not in ESTIMATORS:
        raise ModelFileError(f"{folder} holds a {estimator}, which this enstruct does not know.")
    return ESTIMATORS[estimator].load(folder, **code)


class HubModel(ModelHubMixin, library_name="enstruct", tags=["structured-prediction"]):
    """A fitted model, ``model``, and where it goes: ``save_pretrained(folder)``, ``push_to_hub(name)``,
    ``from_pretrained(folder or name)``, all as huggingface_hub documents them."""

    model: Any

    def __init__(self, model: Any) -> None:
        if not isinstance(model, tuple(ESTIMATORS.values())):
            raise ConfigError(f"HubModel takes a fitted model of enstruct's, not {model!r:.80}.")
        check_is_fitted(model, "classes_")  # before a folder is made for it
        self.model = model

    def _save_pretrained(self, save_directory: Path) -> None:
        self.model.save(save_directory / FOLDER)
        card = save_directory / CARD
        if card.is_file() and MARK in card.read_text(encoding="utf-8", errors="replace"):
            card.unlink()  # the mixin writes one where there is none

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: Path | str | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
        **code: Any,
    ) -> Self:
        """As huggingface_hub has it, without its config.json, which models here have not: a model that was fetched is found again
        offline. ModelFileError for what is neither a model's folder nor to be had from a hub."""
        name = str(pretrained_model_name_or_path)
        try:
            return cls._from_pretrained(
                model_id=name,
                revision=revision,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                token=token,
                **code,
            )
        except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
            reason = [*str(error).strip().splitlines(), type(error).__name__][0]
            raise ModelFileError(
                f"{name!r:.80} is no folder here and came from no hub ({reason:.110}): check its name, `hf auth login` for "
                "one that is private, and that hubs can be reached."
            ) from error

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: Path | str | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        **code: Any,
    ) -> Self:
        place = Path(model_id)
        if not place.is_dir():
            fetched = snapshot_download(
                model_id,
                revision=revision,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                token=token,
                allow_patterns=[f"{FOLDER}/*"],
            )
            place = Path(fetched)
        return cls(load(place / FOLDER, **code))

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """What is asked of a card in the hub's way is passed on to its metadata (``license=``, ``language=``)."""
        name = type(self.model).__name__
        data = ModelCardData(
            **{
                "library_name": "enstruct",
                "tags": ["structured-prediction", "energy-based-model"],
                "pipeline_tag": KINDS.get(name),
                **kwargs,
            }
        )
        return ModelCard(f"---\n{data.to_yaml()}\n---\n\n{card(self.model)}")


def _in_a_cell(name: Any) -> str:
    """What a name looks like in a table of Markdown, between marks of code."""
    return " ".join(str(name).replace("`", "'").replace("|", "\\|").split())


def card(model: Any) -> str:
    """Markdown: the estimator, what it was fitted to, its decision rules with their scores, versions, how it is loaded."""
    name = type(model).__name__
    names = getattr(model, "notes_", {}).get("label_names")  # of a model that the command line trained
    classes = [_in_a_cell(each) for each in (names or np.asarray(model.classes_).tolist())]
    shown = ", ".join(f"`{each}`" for each in classes[:LABELS_SHOWN]) + (", ..." if len(classes) > LABELS_SHOWN else "")
    told = {
        "estimator": f"`{name}`, method `{_name(getattr(model, 'method', 'joint'))}`",
        "features": str(getattr(model, "n_features_in_", "")),
        "classes": f"{len(classes)}: {shown}",
        "decision rule": f"`{model.decision_}`, chosen for `{getattr(model, 'metric_', model.metric)}`",
        "rules given": f"`{model.rules!r:.200}`" if getattr(model, "rules", None) else "",
        "versions": ", ".join(f"{package} {version(package)}" for package in ("enstruct", "torch", "scikit-learn")),
    }
    scores = [f"| {rule} | {100 * score:.2f} |" for rule, score in sorted(model.decision_scores_.items())]
    table = ["", "Scores of the decision rules on rows held out from training, in percent:", "", "| rule | score |", "|---|---|"]
    lines = [
        MARK,
        f"# {name}",
        "",
        "| | |",
        "|---|---|",
        *(f"| {title} | {value} |" for title, value in told.items() if value),
        *([*table, *scores] if scores else []),
        "",
        "```python",
        "from enstruct.hub import HubModel",
        "",
        'model = HubModel.from_pretrained("NAME OF THIS REPOSITORY").model',
        "```",
        "",
        "It is a folder of JSON and safetensors; loading it runs no code.",
    ]
    return "\n".join(lines) + "\n"


def _name(method: Any) -> str:
    return str(getattr(method, "name", method))
