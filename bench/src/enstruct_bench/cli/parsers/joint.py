"""What a joint distribution over label sets is good for: known labels, whole sets, wrong cells, questions; beside peers.

DATA are label sets: a catalogue name, a file, or one of scikit-learn's small tables with labels made of its columns, rows without
any among them: digits, breast, wine, diabetes. For every seed a 60/20/20 split is drawn; all rows of the table are fitted to
training and validation rows together, choose thresholds by answers for validation rows whose labels they have not seen, and are
tested on the same rows with the same labels told. Rows: joint (the default of JointMultiLabelClassifier), base (its base alone),
copula and cleanlab on the same base; each also on a method, as joint:extra-trees; masked-extra-trees, masked-network and chains.

Prints joint negative log-likelihood (nats a row), exact match, F1, the F1 and log-loss of the other labels with 25, 50 and 75% of
them told, the average precision of 5% wrong cells, questions until a set is right, seconds and peak memory. For wrong cells
a side is fitted anew to each of three kinds of noise, masked ones and chains to five folds of each: 15 fits (--parts told leaves
them out). With --json every finished cell is kept, and running the command again goes on where it stopped.
"""

from __future__ import annotations

from pathlib import Path

from enstruct.cli import options as shared
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined

METHODS = (
    "joint,base,joint:extra-trees,joint:binary-relevance,masked-extra-trees,masked-network,copula,chains,feedback-prop,"
    "base-corrected,cleanlab,cleanlab-adjusted"
)
"""Those of :data:`enstruct_bench.joint.registry.DEFAULT`, which takes seconds to import."""


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    p.add_argument("--methods", type=joined, default=METHODS, help="names joined by commas")
    p.add_argument("--seeds", type=int, default=5, help="number of seeds, 0 .. N-1, each with a split of its own")
    p.add_argument("--reference", type=str, default=None, help="method the differences are to (default: the first)")
    p.add_argument("--parts", type=joined, default="told,questions,wrong", help="which figures, joined by commas")
    p.add_argument("--minutes", type=float, default=3.0, help="that the default base may take")
    p.add_argument("--json", type=shared.json_file, default=None, help="results file; finished cells in it are not run again")
    p.add_argument("--picture", type=Path, default=None, help="PNG of F1 gained against the share told")
    return p
