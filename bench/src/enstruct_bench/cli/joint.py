"""What ``enstruct-bench joint`` does; its options are declared in :mod:`enstruct_bench.cli.parsers.joint` for label sets, in
``joint_tags`` and ``joint_masks`` beside it for the others."""

from __future__ import annotations

from jsonargparse import Namespace

from enstruct.cli.which_task import task_of_data
from enstruct.errors import ConfigError, unknown_name
from enstruct_bench.cli.commands import SMALL_TABLES
from enstruct_bench.cli.filled import filled
from enstruct_bench.joint.clicks import clicks_on_masks
from enstruct_bench.joint.command import Joint
from enstruct_bench.joint.tags_told import told_tags
from enstruct_bench.joint.tags_wrong import wrong_tags

OF_TAGS = {"told": told_tags, "wrong": wrong_tags}


def run(options: Namespace) -> None:
    task = "labels" if options.data in SMALL_TABLES else task_of_data(options.data)
    if task == "labels":
        filled(Joint, options).run()
        return
    if options.seeds < 1:
        raise ConfigError("Give at least one seed.")
    if task == "masks":
        clicks_on_masks(options.data, options.seeds, options.size, options.epochs, options.json, options.sides.split(","))
        return
    if options.part not in OF_TAGS:
        raise unknown_name("part", options.part, OF_TAGS)
    methods = [name.strip() for name in options.methods.split(",") if name.strip()]
    OF_TAGS[options.part](options.data, methods, options.seeds, options.epochs, options.embeddings, options.json)
