"""Generated texts with labels that hang together: short notices of songs.

A song has a genre, which nobody labels; moods and instruments come by the genre, and so go together beyond what a notice says. Of
what a song has a notice mentions a part, by one of several phrases, among words that say nothing.
"""

from __future__ import annotations

import numpy as np

from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.data.texts import as_array
from enstruct.validation import check_whole

PHRASES = {
    "calm": ("slow and gentle", "you could sleep to it", "unhurried"),
    "happy": ("made me smile", "a sunny tune", "pure joy"),
    "sad": ("brought a tear", "about a goodbye", "in a minor mood"),
    "angry": ("shouted more than sung", "full of fury", "it spits"),
    "piano": ("soft keys", "a piano line", "chords from the grand"),
    "guitar": ("six strings", "strummed all through", "a riff that stays"),
    "drums": ("a heavy beat", "cymbals everywhere", "drums up front"),
    "strings": ("violins rise", "a small orchestra", "bowed in the back"),
    "voice": ("she sings it well", "a warm voice", "lyrics worth reading"),
    "live": ("you hear the crowd", "recorded on stage", "applause at the end"),
}
LABELS = tuple(PHRASES)
GENRES = np.array(
    [
        [0.7, 0.2, 0.6, 0.0, 0.9, 0.1, 0.1, 0.8, 0.2, 0.3],
        [0.0, 0.2, 0.1, 0.8, 0.0, 0.9, 0.95, 0.0, 0.9, 0.5],
        [0.2, 0.9, 0.0, 0.0, 0.3, 0.6, 0.7, 0.1, 0.9, 0.2],
        [0.6, 0.1, 0.8, 0.0, 0.2, 0.9, 0.1, 0.2, 0.9, 0.2],
    ]
)
"""(genres, labels) how often a song of the genre has each."""
SAID = 0.45
"""How often a notice mentions what a song has."""
FILLERS = (
    *("Third track of the album.", "Found it last week.", "My brother plays it a lot.", "A short one.", "From the second side."),
    *("It took me a while.", "On the radio today.", "Released in spring.", "They have done better.", "I keep coming back to it."),
)


def songs(rows: int = 400, seed: int = 0) -> Dataset:
    """Texts (rows,) and label sets (rows, 10)."""
    check_whole(1, rows=rows)
    rng = np.random.default_rng([seed, 4])
    Y = rng.random((rows, len(LABELS))) < GENRES[rng.integers(0, len(GENRES), rows)]
    texts = []
    for has in Y:
        said = [str(rng.choice(PHRASES[LABELS[k]])) for k in np.flatnonzero(has & (rng.random(len(LABELS)) < SAID))]
        parts = [f"{phrase[0].upper()}{phrase[1:]}." for phrase in said] + [str(rng.choice(FILLERS)) for _ in range(2)]
        rng.shuffle(parts)
        texts.append(" ".join(parts))
    return Dataset(as_array(texts), as_indicator(Y), ("text",), LABELS, name="songs")
