"""Commands as values: how they are typed, and that a command line comes to the same parameters."""

import pytest

from enstruct.cli.options import model_parameters
from enstruct_bench.cli.commands import build_parser
from enstruct_bench.comparison.command import parameters
from enstruct_bench.comparison.compare import Compare
from enstruct_bench.comparison.few_labels import SKIPPED as OF_LIGHT
from enstruct_bench.reproduce.library import Pictures, Train
from enstruct_bench.tuning.tune import SKIPPED as OF_TUNE


def test_a_command_is_typed_without_its_defaults():
    model = {"method__energy_rate": 10.0, "layers": 0}
    command = Compare("x", labels="-3", drop=["a", "b"], methods=("dvn", "spen"), model=model)
    assert command.spelled() == (
        "enstruct-bench compare x --labels=-3 --drop [a,b] --methods dvn,spen --method.energy_rate 10 --model.layers 0"
    )
    assert Train("x", out="m", resume=True).spelled() == "enstruct train x --out m --resume"
    assert Pictures("m", "x").spelled() == "enstruct evaluate m x --pictures"


def test_words_are_options_and_parameters_that_may_be_files():
    command = Compare("x", tuned="t", columns=[1], model={"embeddings": "e", "layers": 0})
    assert {"x", "t", "e"} <= {*command.words()}
    moved = command.located(lambda word: {"x": "X", "e": "E"}.get(word, word))
    assert moved == Compare("X", tuned="t", columns=[1], model={"embeddings": "E", "layers": 0})


@pytest.mark.parametrize(
    ("words", "task", "skipped"),
    [
        (["compare", "x.npz", "--task", "labels"], "labels", {"method", "random_state"}),
        (["compare", "x", "--task", "tags"], "tags", {"method", "random_state"}),
        (["compare", "x", "--task", "masks"], "masks", {"method", "random_state"}),
        (["tune", "x.npz"], "labels", OF_TUNE),
        (["light", "x"], "tags", OF_LIGHT),
    ],
)
def test_parameters_are_those_of_the_command_line(words, task, skipped):
    """In their order too: journals and results files hold them."""
    typed = model_parameters(build_parser(words).parse_args(words)[words[0]])
    assert list(typed.items()) == list(parameters(task, {}, skipped).items())
