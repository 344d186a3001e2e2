"""A pretrained transformer from a folder: its tokenizer, its network, and the digest of its weights.

Nothing in the folder is run: weights are read from safetensors alone, and a model with code of its own is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from enstruct.errors import ConfigError, EnstructError, MissingEncoderError, MissingExtraError, ModelFileError, shortened, shown
from enstruct.files import write_tensors

log = logging.getLogger("enstruct")
_loading = threading.RLock()
"""Of the library ``transformers``, whose imports are no thread's own, and so that a folder has one trunk."""
WEIGHTS = "*.safetensors"
PICKLED = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt")
TOKENIZERS = ("tokenizer.json", "vocab.*", "*.model")
BESIDE = ("*.json", "*.txt", "*.model")
"""What an encoder's folder needs beside weights: its configuration, its tokenizer's files."""


def folder_of(name: str | Path) -> Path:
    """Of an encoder: a folder, or what Hugging Face's cache holds of a name on its hub. Nothing is fetched.

    ConfigError where there is none, and for one with pickled weights alone.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        found = _cached(str(name))
        if found is None:
            raise MissingEncoderError(
                f"There is no encoder {shown(str(name))}: give the folder that it lies in, or fetch it from the hub once, "
                "with `enstruct encoder fetch NAME`."
            )
        folder = found
    if not (folder / "config.json").is_file():
        raise ConfigError(f"{folder} is no encoder's folder: it has no config.json.")
    if not any(folder.glob(WEIGHTS)):
        pickled = next((file.name for pattern in PICKLED for file in sorted(folder.glob(pattern))), None)
        if pickled is None:
            raise ConfigError(f"{folder} has no weights: an encoder's are in {WEIGHTS}.")
        raise ConfigError(
            f"{folder} has its weights pickled alone ({pickled}), which may run code when they are read: convert them once, with "
            "`enstruct encoder convert FOLDER`."
        )
    return folder


def _cached(name: str) -> Path | None:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise _missing() from error
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError, ValueError):
        return None


def _missing() -> MissingExtraError:
    return MissingExtraError(
        "Pretrained encoders need transformers: pip install 'enstruct[text]'. Without it texts go by tf-idf."
    )


@dataclass(frozen=True, eq=False)
class Trunk:
    """``network`` (token numbers, mask) -> hidden states; ``positions``: the most tokens that it reads at once.

    ``lock`` is held while somebody has the network in a mode, on a device, or with parts of his own. ``said``: after how many
    tokens texts were cut, as far as that was said.
    """

    folder: Path
    network: nn.Module
    tokenizer: Any
    digest: str
    positions: int
    lock: Any = field(default_factory=threading.RLock)
    said: set[int] = field(default_factory=set)

    @property
    def width(self) -> int:
        return int(self.network.config.hidden_size)  # type: ignore[union-attr,arg-type]

    @property
    def depth(self) -> int:
        """Layers."""
        return int(getattr(self.network.config, "num_hidden_layers", 1) or 1)

    def __deepcopy__(self, memo: Any) -> Self:
        """The same one: nobody trains it."""
        return self

    def __reduce__(self) -> Any:
        """A pickle names the folder, and the digest that it must have."""
        return _reloaded, (self.folder, self.digest)

    def tokens(self, texts: list[str], most: int) -> list[list[int]]:
        """Token numbers of each text, its special ones among them, at most so many; one at least.

        A warning says, once of an encoder and number, that texts are cut there.
        """
        if not texts:
            return []
        encoded = self._encoded(texts, most + 1)
        long = [i for i, numbers in enumerate(encoded) if len(numbers) > most]
        for i, numbers in zip(long, self._encoded([texts[i] for i in long], most), strict=True):
            encoded[i] = numbers  # which ends in what ends a text
        if long and most not in self.said:
            self.said.add(most)
            why = "what the encoder reads at once" if most == self.positions else "max_tokens"
            log.warning("%d of %d texts have more than %d tokens (%s) and are cut there", len(long), len(texts), most, why)
        return [numbers[:most] or [self.fill] for numbers in encoded]

    def _encoded(self, texts: list[str], most: int) -> list[list[int]]:
        if not texts:
            return []
        with self.lock:  # where a tokenizer cuts is a state of it
            return list(self.tokenizer(texts, truncation=True, max_length=most, return_attention_mask=False)["input_ids"])

    def pieces(self, words: list[str]) -> list[list[int]]:
        """The numbers of each word's pieces, as it has them behind another word; one at least."""
        if not words:
            return []
        with self.lock:
            before, *encoded = self.tokenizer(["a", *(f"a {word}" for word in words)], add_special_tokens=False)["input_ids"]
        unknown = int(getattr(self.tokenizer, "unk_token_id", None) or 0)
        return [numbers[len(before) :] or [unknown] for numbers in encoded]

    @property
    def fill(self) -> int:
        """What pads."""
        return int(getattr(self.tokenizer, "pad_token_id", None) or 0)


def _reloaded(folder: Path, digest: str) -> Trunk:
    trunk = load_trunk(folder)
    if trunk.digest != digest:
        raise ModelFileError(f"The encoder at {folder} has other weights than the one that was pickled.")
    return trunk


def load_trunk(name: str | Path) -> Trunk:
    """The encoder of that name (:func:`folder_of`); of one folder the same object, as long as its files are as they were.

    ConfigError for what is no transformer that gives hidden states, MissingExtraError without ``transformers``.
    """
    folder = folder_of(name)
    state = tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in _files(folder))
    with _loading:
        return _loaded(folder.resolve(), state)


def new_network(name: str | Path) -> tuple[nn.Module, Trunk]:
    """A copy of the encoder's network of one's own, to be trained as a whole, and the trunk that it is a copy of."""
    trunk = load_trunk(name)
    with _loading:
        return _network(trunk.folder), trunk


@lru_cache(maxsize=4)
def _loaded(folder: Path, state: tuple[Any, ...]) -> Trunk:
    network = _network(folder).requires_grad_(False)
    if not any(any(folder.glob(pattern)) for pattern in TOKENIZERS):
        raise ConfigError(f"{folder} has no tokenizer: put tokenizer.json, or the vocabulary, beside its weights.")
    with _quiet(folder) as transformers:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    config: Any = network.config
    positions = int(getattr(config, "max_position_embeddings", 0) or 2**31)
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            positions = module.num_embeddings - module.padding_idx - 1  # numbers of positions begin behind the padding's
    return Trunk(folder, network.eval(), tokenizer, digest_of(folder), positions)


def _network(folder: Path) -> nn.Module:
    with _quiet(folder) as transformers, torch.device("cpu"):  # whatever device somebody builds networks on at present
        network, found = transformers.AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    lacking = sorted(key for key in found["missing_keys"] if not key.startswith("pooler."))
    if lacking or found.get("mismatched_keys"):
        raise ConfigError(
            f"{folder} has not the weights of its network: {len(lacking)} are missing, first {shown(next(iter(lacking), ''))}, "
            "or have other shapes. They would be random."
        )
    if not hasattr(network, "config") or not hasattr(network.config, "hidden_size"):
        raise ConfigError(f"{folder} holds no encoder of texts: its network says nothing of the width of its hidden states.")
    if getattr(network.config, "is_encoder_decoder", False):
        network = network.get_encoder()
    return network


@contextlib.contextmanager
def _quiet(folder: Path) -> Any:
    """``transformers`` without bars and words; what it refuses as a ConfigError."""
    try:
        import transformers
        from transformers.utils import logging as words
    except ImportError as error:
        raise _missing() from error
    before, bars = words.get_verbosity(), words.is_progress_bar_enabled()
    words.set_verbosity_error()
    words.disable_progress_bar()
    try:
        yield transformers
    except EnstructError:
        raise
    except Exception as error:  # whatever that library and those beneath it raise
        raise ConfigError(f"{shortened(str(folder), 100)} cannot be read as an encoder: {shortened(str(error), 150)}") from error
    finally:
        words.set_verbosity(before)
        if bars:
            words.enable_progress_bar()


def _files(folder: Path) -> list[Path]:
    """What an encoder's features depend on."""
    names = (WEIGHTS, *TOKENIZERS, "config.json", "tokenizer_config.json", "special_tokens_map.json", "merges.txt")
    return sorted({file for name in names for file in folder.glob(name)})


def digest_of(folder: Path) -> str:
    """SHA-256 of an encoder's weights and its tokenizer, in hexadecimal."""
    total = hashlib.sha256()
    for file in _files(folder):
        with file.open("rb") as opened:
            total.update(file.name.encode() + hashlib.file_digest(opened, "sha256").digest())
    return total.hexdigest()


def convert(folder: str | Path) -> Path:
    """Write ``model.safetensors`` beside the pickled weights of an encoder's folder, which are read without running code.

    ModelFileError where that cannot be done; SaveError.
    """
    folder = Path(folder)
    pickled = next(filter(None, (sorted(folder.glob(pattern)) for pattern in PICKLED)), [])  # beside a model's, a trainer's own
    if not pickled:
        raise ModelFileError(f"{folder} has no pickled weights to be converted.")
    converted = folder / "model.safetensors"
    if converted.exists():
        raise ModelFileError(f"{converted} is there already, and would be written over: delete it first, if it is to go.")
    tensors: dict[str, Tensor] = {}
    for file in pickled:
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # torch and pickle raise many kinds
            why = shown(str(error) or type(error).__name__, 100)
            raise ModelFileError(
                f"{file} holds more than weights, or is damaged, and is not read ({why}): take the model's safetensors."
            ) from error
        content = content.get("state_dict", content) if isinstance(content, dict) else content
        if not isinstance(content, dict) or not all(isinstance(one, Tensor) for one in content.values()):
            raise ModelFileError(f"{file} holds no table of weights.")
        tensors |= content
    write_tensors(converted, tensors, {"format": "pt"})
    return converted


def download(name: str, revision: str | None = None, pickled: bool = False) -> Path:
    """Fetch an encoder from Hugging Face's hub into its cache, with a bar, and check its weights against the hub's checksums.

    ``pickled``: of a repository without safetensors the pickled weights, which are converted (:func:`convert`). The one thing
    here that uses a network. ConfigError for names that are none, without a connection, for repositories without safetensors
    unless ``pickled``, and where a checksum differs.
    """
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise _missing() from error
    info = _asked(name, lambda: HfApi().model_info(name, revision=revision, files_metadata=True))
    files = {file.rfilename: file for file in info.siblings or ()}
    has = {kind: any("/" not in file and fnmatch(file, kind) for file in files) for kind in (WEIGHTS, PICKLED[0])}
    weights = PICKLED[0] if has[PICKLED[0]] and not has[WEIGHTS] else WEIGHTS
    if weights != WEIGHTS and not pickled:
        raise ConfigError(
            f"{shown(name)} has its weights pickled alone on the hub, which may run code when they are read: fetch and convert "
            f"them by `enstruct encoder fetch {shortened(name, 60)} --pickled`, which reads weights and nothing else."
        )
    folder = Path(_asked(name, lambda: snapshot_download(name, revision=info.sha, allow_patterns=[weights, *BESIDE])))
    for file in sorted(folder.glob(weights)):
        if not _is_as_on_the_hub(file, files.get(file.name)):
            raise ConfigError(f"{file} is not what the hub's checksum says: delete it, and fetch it again.")
    if weights != WEIGHTS and not (folder / "model.safetensors").exists():
        convert(folder)
    return folder_of(folder)


def _asked(name: str, ask: Callable[[], Any]) -> Any:
    """Of the hub; ConfigError where it does not answer."""
    try:
        return ask()
    except Exception as error:  # the hub's library speaks through one of several others, each with errors of its own
        raise ConfigError(f"The hub does not give {shown(name)}: {shortened(str(error), 150)}") from error


def _is_as_on_the_hub(file: Path, there: Any) -> bool:
    """By SHA-256 of large files, by git's own SHA-1 of those that the repository holds itself."""
    if there is None:
        return False
    if there.lfs is not None:
        with file.open("rb") as opened:
            return bool(hashlib.file_digest(opened, "sha256").hexdigest() == there.lfs.sha256)
    content = file.read_bytes()
    return bool(hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == there.blob_id)


def padded(tokens: list[list[int]], fill: int) -> tuple[Tensor, Tensor]:
    """(texts, longest) numbers and mask."""
    lengths = np.array([len(one) for one in tokens])
    there = np.arange(lengths.max()) < lengths[:, None]
    numbers = np.full(there.shape, fill, dtype=np.int64)
    numbers[there] = np.concatenate([np.asarray(one, dtype=np.int64) for one in tokens])
    return torch.from_numpy(numbers), torch.from_numpy(there)
