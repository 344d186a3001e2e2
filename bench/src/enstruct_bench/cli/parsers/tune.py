"""Search for settings of one method or several, on validation rows only, with equal trials for each.

Trials are kept in a journal file (--storage), which several processes may share: start the command twice to use two cores.
Workers on several hosts share a database that Optuna knows, by its URL, as postgresql://user@host/trials.
Running it again goes on until every method has --trials. The best settings are printed and written to --json.
"""

from __future__ import annotations

from enstruct.cli import options as shared
from enstruct.cli.outputs import add_overwrite
from enstruct.cli.parser import Parser
from enstruct_bench.cli.parsers.names import joined
from enstruct_bench.tuning.searched import SEARCHED


def parser() -> Parser:
    p = shared.new_parser(__doc__ or "")
    shared.add_data(p)
    p.add_argument("--methods", type=joined, default="seal-nce", help="names joined by commas")
    p.add_argument("--trials", type=int, default=20, help="for each method")
    p.add_argument("--most_updates", type=int, default=10, help="energy updates a batch at most")
    p.add_argument(
        "--storage",
        type=str,
        default="tuning.journal",
        help="journal of all trials, or a database's URL; shared, and gone on with",
    )
    p.add_argument("--json", type=shared.json_file, default=None, help="write the best settings to this file")
    add_overwrite(p)
    p.add_argument("--split_seed", type=shared.Seed, default=0, help="of the 60/20/20 split; its test rows are not looked at")
    p.add_argument("--seed", type=shared.Seed, default=0, help="of the networks and of the search")
    shared.add_model(p, skip={"method", "random_state", "decision", *SEARCHED})
    return p
