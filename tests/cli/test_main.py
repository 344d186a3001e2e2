"""The program as a process: signals end it with one line, whenever they come."""

import gc
import os
import signal
import subprocess
import sys
import time

import pytest

import enstruct
from enstruct.cli.main import main
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive

ENDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}
TRAIN = ["train", "mine.npz", "--out", "model", "--model.method", "mlp", "--model.hidden", "8", "--model.max_epochs", "9000"]
TRAIN += ["--model.n_iter_no_change", "9000"]


def begun(arguments, **where):
    """A process of its own, which does not ignore signals, as background jobs of a shell and their children do."""
    command = [sys.executable, "-m", "enstruct.cli.main", *arguments]
    where |= {"preexec_fn": heeding_signals, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **where)


def heeding_signals():
    for number in ENDS:
        signal.signal(number, signal.SIG_DFL)


def answered(module, arguments):
    """(exit code, what was said, seconds of the processor, modules imported) of a program as a process of its own."""
    code = f"import sys; sys.argv[1:] = {arguments!r}; import atexit, resource; from {module} import main\n"
    code += "atexit.register(lambda: print('\\n', sum(resource.getrusage(resource.RUSAGE_SELF)[:2]), *sys.modules))\n"
    done = subprocess.run([sys.executable, "-c", code + "sys.exit(main())"], capture_output=True, text=True)
    *said, last = done.stdout.splitlines()
    seconds, *modules = last.split()
    return done.returncode, "\n".join(said) + done.stderr, float(seconds), {*modules}


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_while_modules_are_imported(number, tmp_path):
    code, word = ENDS[number]
    write_npz(tmp_path / "mine.npz", block_exclusive(80, seed=1))
    for seconds in (0.15, 0.25, 0.35):  # of the two that the imports of training take
        with begun(TRAIN, cwd=tmp_path) as process:
            time.sleep(seconds)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out, err) == (code, "", f"{word}\n")


DROPPING = """
import os, time

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), {number})

def work():
    Dropped()
    time.sleep(50)
    return 0

def prepared(arguments):
    return work
"""


def test_a_signal_in_training_says_what_is_kept(tmp_path):
    write_npz(tmp_path / "mine.npz", block_exclusive(80, seed=1))
    with begun(TRAIN, cwd=tmp_path) as process:
        end = time.monotonic() + 60
        while not (tmp_path / "model.checkpoint").exists() and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    said = "terminated; model.checkpoint is kept: the same command with --resume goes on\n"
    assert (process.returncode, err) == (143, said)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.npz", "model.checkpoint"]  # no temporary files


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_where_python_drops_exceptions(number, tmp_path):
    (tmp_path / "dropping.py").write_text(DROPPING.format(number=int(number)))
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from enstruct.cli.main import main; "
    code += "sys.exit(main(commands='dropping'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (128 + number, {2: "interrupted\n", 15: "terminated\n"}[number])


def test_a_command_called_from_python_leaves_signals_alone(tmp_path, capsys):
    former = [signal.getsignal(number) for number in ENDS]
    assert main(["data", "list"]) == 0
    assert [signal.getsignal(number) for number in ENDS] == former


WARNING = """
import warnings
from enstruct.errors import ConstantLabelWarning

def work():
    warnings.warn("3 labels never vary.", ConstantLabelWarning, stacklevel=1)
    warnings.warn("somebody else's", UserWarning, stacklevel=1)
    return 0

def prepared(arguments):
    return work
"""


def test_warnings_of_the_library_are_lines_like_errors(tmp_path):
    (tmp_path / "warning_of.py").write_text(WARNING)
    code = "import sys; from enstruct.cli.main import main; sys.exit(main(commands='warning_of'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    first, *others = done.stderr.splitlines()
    assert (done.returncode, first) == (0, "warning: 3 labels never vary.")
    assert "UserWarning: somebody else's" in others[0]
    assert "warning_of.py:7" in others[0]


COLLECTING = """
import gc

while_imported = gc.isenabled()

def prepared(arguments):
    return lambda: print(while_imported, gc.isenabled(), gc.get_freeze_count() > 0) or 0
"""


def test_garbage_is_not_collected_while_modules_are_imported(tmp_path):
    (tmp_path / "collecting.py").write_text(COLLECTING)
    code = "import sys; from enstruct.cli.main import main; sys.exit(main(commands='collecting'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (0, "False True True\n")


@pytest.mark.parametrize("collects", [True, False])
def test_the_library_leaves_the_collector_as_it_was(collects, monkeypatch):
    seen = []
    monkeypatch.setattr(enstruct, "import_module", lambda name: seen.append(gc.isenabled()) or 1 / 0)
    if not collects:
        gc.disable()
    try:
        with pytest.raises(ZeroDivisionError):
            enstruct.__getattr__("EnergyMultiLabelClassifier")
        assert (seen, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable()


def test_the_package_itself_imports_nothing_heavy():
    code = "import sys, enstruct.cli.main; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == "False False\n"


ANSWERED_AT_ONCE = {
    "help": (["--help"], 0, "usage: enstruct"),
    "help of a command": (["train", "--help"], 0, "--model.max_epochs"),
    "help of a review": (["review", "--help"], 0, "--top"),
    "a label page that goes nowhere": (["label", "m", "a.csv"], 2, "these are required: --out"),
    "help of a task": (["train", "--task", "tags", "--help"], 0, "--model.scheme"),
    "a mistyped option": (["train", "a.npz", "--out", "m", "--model.hiden", "8"], 2, "Did you mean --model.hidden?"),
    "a value of the wrong kind": (["train", "p", "--task=masks", "--out", "m", "--model.width", "wide"], 2, "--model.width"),
    "an unknown command": (["trian"], 2, "trian"),
    "a missing argument": (["train", "a.npz"], 2, "these are required: --out"),
    "a command that moved": (["compare"], 2, "enstruct-bench compare"),
    "a former command": (["tags", "picture", "m", "a.conll"], 2, "enstruct evaluate MODEL DATA --pictures FOLDER"),
    "a column's former option": (["train", "a.npz", "--out", "m", "--model.energy_weight", "2"], 2, "--method.energy_weight"),
    "an option of another task": (["train", "a.conll", "--out", "m", "--columms", "[1]"], 2, "Did you mean --columns?"),
    "a model that is none": (["predict", "nowhere", "a.npz"], 2, "not an enstruct model"),
    "data that do not tell": (["train", "nowhere", "--out", "m"], 2, "no file or folder"),
}


@pytest.mark.parametrize("case", ANSWERED_AT_ONCE)
def test_what_needs_no_torch_is_answered_at_once(case):
    arguments, code, said = ANSWERED_AT_ONCE[case]
    end, text, seconds, modules = answered("enstruct.cli.main", arguments)
    assert (end, said in text) == (code, True), text
    assert not {"torch", "sklearn", "scipy", "numpy", "pandas"} & modules
    assert seconds < 1  # of the processor; 0.2 on a machine of 2024


def test_the_library_imports_nothing_before_it_is_used():
    code = "import torch, sklearn, sys; before = {*sys.modules}; import enstruct; enstruct.EnergyMultiLabelClassifier; "
    code += "print(*({*sys.modules} - before)); from enstruct.encoders.predictor import LinearPredictor; "
    code += "LinearPredictor(torch.zeros(3, 2), torch.zeros(3)); print('torch._dynamo' in sys.modules)"  # as where one is loaded
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added, compiles = done.stdout.splitlines()
    assert compiles == "False"
    parts = {name.partition(".")[0] for name in added.split()}
    assert parts & {"pandas", "matplotlib", "jsonargparse", "rich", "pooch", "iterstrat", "seqeval", "PIL", "yaml"} == set()
    of_sklearn = {name for name in added.split() if name.startswith("sklearn.")}
    assert not {f"sklearn.{name}" for name in ("metrics", "ensemble", "linear_model", "preprocessing")} & of_sklearn


def test_names_of_the_package_are_there_all_the_same():
    for name in enstruct.__all__:
        assert getattr(enstruct, name) is not None
    assert {"EnergySpec", "METHODS", "__version__"} <= {*dir(enstruct)}
    assert enstruct.methods.METHODS is enstruct.METHODS
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = enstruct.nonsense
