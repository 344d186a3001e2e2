"""What is learnt from labels with holes, and what cells that are told say of the others; the joint beside peers.

DATA are label sets (a catalogue name or a file, with or without unknown cells), or assays of molecules below ENSTRUCT_DATA:
tox21, toxcast, sider (SMILES, read into fingerprints; pip install './bench[molecules]'). For every seed a 60/20/20 split is
drawn at random. --removed takes shares of the training rows' cells away at random; with --positives_only shares of the positive
ones, and no negative cell is told, so that all sides take unknown cells for absent ones. Test rows keep their cells.

Rows: joint (the default of JointMultiLabelClassifier), base (its base alone), masked-bce (a network on observed cells),
masked-network (the same with told cells as inputs), boosting and linear (a model a label on its observed rows). Prints log-loss
a cell, micro average precision and macro area under ROC of observed test cells, with nothing told and, of the other half, with
half of each row's observed cells told. With --json every finished cell is kept, and running the command again goes on where it
stopped.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined

METHODS = "joint,base,masked-bce,masked-network,boosting,linear"
"""Those of :data:`enstruct_bench.holes.sides.SIDES`, which takes seconds to import."""


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    p.add_argument("--removed", type=joined, default="", help="shares of training cells to take away, as 0.3,0.5,0.7")
    shared.add_switch(p, "positives_only", "no negative cell is told, and these shares of the positive ones are not either")
    p.add_argument("--methods", type=joined, default=METHODS, help="names joined by commas, joint among them")
    p.add_argument("--seeds", type=int, default=3, help="number of seeds, 0 .. N-1, each with a split of its own")
    p.add_argument("--minutes", type=float, default=3.0, help="that the joint's base may take")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    return p
