"""What users of texts would pick instead, each from its own library: texts and label sets in, marginals out.

svm, one-vs-rest   LibMultiLabel's linear trainers, on the library's own terms
cost-sensitive     LibMultiLabel's SVMs, costs of positives chosen by cross-validation for micro-F1 (its trainer of thresholds
                   sums over an axis that a matrix has not, and fails with every data: 0.10.0, linear.py, line 320)
fasttext           fastText (Joulin et al. 2017), averaged vectors of words and pairs, loss one-vs-all
trainer            transformers' own Trainer, all weights, problem_type="multi_label_classification"
contrastive        as SetFit (Tunstall et al. 2022): a siamese encoder on pairs that share a label or do not, then one logistic
                   regression a label on its embeddings
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from enstruct import TextEncoder, TextFeatures
from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.decisions.choose import cross_validate
from enstruct.encoders.text.pretrained import accelerator
from enstruct.encoders.text.trunk import padded
from enstruct.estimators.candidates import AVERAGEABLE
from enstruct.randomness import seeded
from enstruct_bench.costs.peers import libmultilabel
from enstruct_bench.texts.collections import Documents

Marginals = Callable[[list[str]], Any]
"""Texts -> (texts, labels)."""
WORD_PAIRS, FASTTEXT_EPOCHS, FASTTEXT_RATE = 2, 50, 0.5
TRAINER_EPOCHS, TRAINER_BATCH, TRAINER_RATES = 6, 16, (5e-5, 5e-4)
"""Rates: its own, and a larger one, since few documents make few steps."""
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""C of linear models, which is chosen by micro-F1 on validation documents, as that of our own is chosen there."""
PAIRS_A_TEXT, PAIR_BATCH, PAIR_RATE = 4, 16, 2e-5
"""SetFit's own are 20 pairs of each kind a text; so many take hours on two cores."""


def linear(trainer: str, solver: int, train: Documents, validation: Documents) -> Marginals:
    rows = TextFeatures().fit(train.texts)
    inside, held = (Dataset(rows.transform(part.texts), as_indicator(part.Y), (), part.names) for part in (train, validation))
    best, highest = None, -1.0
    for C in (1.0,) if trainer == "cost-sensitive" else PENALTIES:  # which chooses weights of its own, in many fits
        _, marginals = libmultilabel(trainer, solver, C)(inside.X, inside.Y, held)
        score = max(cross_validate(AVERAGEABLE, marginals(held.X), held.Y, "micro-f1").scores.values())
        best, highest = (marginals, score) if score > highest else (best, highest)
    chosen = cast(Any, best)
    return lambda texts: chosen(rows.transform(texts))


def fasttext(train: Documents, seed: int) -> Marginals:
    """Labels go by their numbers: names may have blanks. It learns nothing of documents without a label."""
    import fasttext as package

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        lines = [
            " ".join([*(f"__label__{k}" for k in np.flatnonzero(y)), _one_line(text)])
            for text, y in zip(train.texts, train.Y, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        model = package.train_supervised(
            str(path), loss="ova", epoch=FASTTEXT_EPOCHS, lr=FASTTEXT_RATE, wordNgrams=WORD_PAIRS, thread=1, seed=seed, verbose=0
        )

    def marginals(texts: list[str]) -> NDArray[np.float64]:
        p = np.zeros((len(texts), train.Y.shape[1]))
        for row, text in enumerate(texts):
            for value, name in model.f.predict(_one_line(text) + "\n", -1, 0.0, "strict"):  # its own predict fails with NumPy 2
                p[row, int(name.removeprefix("__label__"))] = value
        return p

    return marginals


def _one_line(text: str) -> str:
    """Words and marks in small letters, parted by blanks, as its authors prepare texts."""
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


def trainer(encoder: TextEncoder, train: Documents, validation: Documents, seed: int) -> Marginals:
    """The rate and the epoch of the least validation loss."""
    tried = [_trained(encoder, train, validation, seed, rate) for rate in TRAINER_RATES]
    model = min(tried, key=lambda one: one[0])[1]
    return lambda texts: _logistic(model, encoder, texts)


def _trained(encoder: TextEncoder, train: Documents, validation: Documents, seed: int, rate: float) -> tuple[float, Any]:
    """(validation loss, model)."""
    from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments, set_seed

    set_seed(seed)  # of the head's first weights
    model = AutoModelForSequenceClassification.from_pretrained(
        str(encoder.name),
        num_labels=train.Y.shape[1],
        problem_type="multi_label_classification",
        local_files_only=True,
        use_safetensors=True,
        dtype=torch.float32,  # whatever the file has: small steps are lost in half precision
    )
    parts = [_Items(encoder, part.texts, part.Y) for part in (train, validation)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=TRAINER_EPOCHS,
            per_device_train_batch_size=TRAINER_BATCH,
            per_device_eval_batch_size=TRAINER_BATCH,
            learning_rate=rate,
            warmup_steps=0.1,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=1,
            load_best_model_at_end=True,
            train_sampling_strategy="group_by_length",
            report_to=[],
            dataloader_pin_memory=False,
            disable_tqdm=True,
            seed=seed,
        )
        run = Trainer(model, arguments, train_dataset=parts[0], eval_dataset=parts[1], data_collator=parts[0].batch)
        run.train()
        return float(cast(float, run.state.best_metric)), model


class _Items(torch.utils.data.Dataset[dict[str, Any]]):
    def __init__(self, encoder: TextEncoder, texts: list[str], Y: NDArray[Any]) -> None:
        trunk = encoder.trunk
        self.tokens, self.fill = trunk.tokens(texts, min(encoder.max_tokens, trunk.positions)), trunk.fill
        self.Y = torch.from_numpy(np.asarray(Y, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"input_ids": self.tokens[i], "labels": self.Y[i]}

    def batch(self, items: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        numbers, there = padded([item["input_ids"] for item in items], self.fill)
        return {"input_ids": numbers, "attention_mask": there.long(), "labels": torch.stack([item["labels"] for item in items])}


@torch.inference_mode()
def _logistic(model: Any, encoder: TextEncoder, texts: list[str]) -> NDArray[np.float64]:
    model.eval()
    device = next(model.parameters()).device
    tokens = encoder.trunk.tokens(texts, min(encoder.max_tokens, encoder.trunk.positions))
    out = np.empty((len(texts), model.config.num_labels))
    order = np.argsort([len(one) for one in tokens], kind="stable")
    for rows in np.array_split(order, max(1, len(order) // TRAINER_BATCH)):
        numbers, there = (part.to(device) for part in padded([tokens[i] for i in rows], encoder.trunk.fill))
        out[rows] = torch.sigmoid(model(input_ids=numbers, attention_mask=there.long()).logits.double()).cpu().numpy()
    return out


def contrastive(encoder: TextEncoder, train: Documents, seed: int) -> Marginals:
    """Cosines of pairs are pulled to 1 where the two share a label and to 0 where they do not (squared error), as SetFit does."""
    device = accelerator()
    network = TextEncoder(encoder.name, tuning="full", max_tokens=encoder.max_tokens).network().to(device)
    rng = np.random.default_rng(seed)
    first, second, alike = pairs_of(train.Y, PAIRS_A_TEXT, rng)
    rows = TextEncoder(encoder.name, tuning="full", max_tokens=encoder.max_tokens).token_rows(train.texts)
    optimizer = torch.optim.AdamW(network.parameters(), lr=PAIR_RATE)
    order = rng.permutation(len(alike))
    network.train()
    with seeded(seed):
        for batch in np.array_split(order, max(1, len(order) // PAIR_BATCH)):
            vectors = network(_tensor(rows[np.concatenate([first[batch], second[batch]])]).to(device))
            cosine = F.cosine_similarity(*vectors.chunk(2))
            loss = F.mse_loss(cosine, torch.from_numpy(alike[batch]).to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    network.eval()

    @torch.inference_mode()
    def embedded(texts: list[str]) -> NDArray[np.float32]:
        numbers = TextEncoder(encoder.name, tuning="full", max_tokens=encoder.max_tokens).token_rows(texts)
        parts = [network(_tensor(numbers[np.arange(i, min(i + 32, len(texts)))]).to(device)) for i in range(0, len(texts), 32)]
        return np.asarray(F.normalize(torch.cat(parts)).cpu().numpy())

    X = embedded(train.texts)
    models = [LogisticRegression(max_iter=1000).fit(X, y) if 0 < y.sum() < len(y) else float(y.mean()) for y in train.Y.T]

    def marginals(texts: list[str]) -> NDArray[np.float64]:
        X = embedded(texts)
        columns = [np.full(len(X), one) if isinstance(one, float) else one.predict_proba(X)[:, 1] for one in models]
        return np.stack(columns, axis=1)

    return marginals


def pairs_of(Y: NDArray[Any], each: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]:
    """(first, second, alike): of every text so many pairs with one that shares a label, and so many with one that does not."""
    shares = (Y.astype(np.int64) @ Y.T.astype(np.int64)) > 0
    np.fill_diagonal(shares, True)
    first, second, alike = [], [], []
    for row, share in enumerate(shares):
        own = np.flatnonzero(share)
        for others, value in ((own[own != row], 1.0), (np.flatnonzero(~share), 0.0)):
            drawn = rng.choice(others, each) if len(others) else np.empty(0, dtype=np.int64)
            first += [row] * len(drawn)
            second += list(drawn)
            alike += [value] * len(drawn)
    return np.array(first), np.array(second, dtype=np.int64), np.array(alike, dtype=np.float32)


def _tensor(rows: Any) -> torch.Tensor:
    from enstruct.training.batches import to_features

    return to_features(rows)
