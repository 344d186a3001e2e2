"""Documents with planted labels, and a tiny random encoder of them."""

from __future__ import annotations

import numpy as np

WORDS = ("grain", "wheat", "oil", "ship", "gold", "trade", "crude", "corn", "rate", "bank")


def documents(n, seed=0):
    """(texts, Y (n, 3)): a label is there where its word is, and the third where both others are."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 2)) < 0.5).astype(int)
    texts = []
    for first, second in Y:
        words = [*rng.choice(WORDS[2:], size=4), *(["grain"] if first else []), *(["wheat"] if second else [])]
        texts.append(" ".join(rng.permutation(words)))
    return texts, np.column_stack([Y, Y.all(1)])


def tiny_encoder(folder, seed=0, more=(), **changes):
    """A BERT of two layers with random weights and a vocabulary of words, saved as the library ``transformers`` saves one.

    ``more`` : further pieces of words.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz", *more]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    settings = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=32, **{**settings, **changes})
    torch.manual_seed(seed)
    BertModel(config).eval().save_pretrained(folder)
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
