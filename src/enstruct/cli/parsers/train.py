"""Train a model on a file, a folder or a named data set and save it.

Whether label sets, tags or masks are learnt DATA say by their name or ending, and where they do not, --task does. The options
below are those for {task}{others}. {learnt}

Ctrl-C leaves the checkpoint of the last finished epoch in OUT.checkpoint; --resume goes on from there and
ends at the same model as an uninterrupted run.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct.cli.parsers import NOUNS, of_task


def parser(task: str) -> Parser:
    others = (
        "" if task != "labels" else "; `enstruct train --task tags --help` shows those for tags, --task masks those for masks"
    )
    p = shared.new_parser((__doc__ or "").format(task=NOUNS[task], others=others, learnt=of_task(task).LEARNT))
    p.like_this = "" if task == "labels" else f"--task {task}"
    of_task(task).add_train(p)
    p.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    p.add_argument("--task", type=str, default=task, help="labels, tags or masks, where DATA do not tell")
    shared.add_switch(p, "resume", "go on from OUT.checkpoint")
    p.add_argument("--seed", type=shared.Seed, default=0)
    shared.add_model(p, {"random_state"}, task)
    return p
