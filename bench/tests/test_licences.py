"""Licences of what is installed, as it declares them."""

from email.message import Message
from pathlib import Path

import pytest

from enstruct_bench.cli.main import main
from enstruct_bench.licences import UNKNOWN, dependencies, licence_of

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


class Package:
    files = None

    def __init__(self, **lines):
        self.metadata = Message()
        for name, value in lines.items():
            for one in value if isinstance(value, list) else [value]:
                self.metadata[name.replace("_", "-")] = one


@pytest.mark.parametrize(
    ("package", "licence"),
    [
        (Package(License_Expression="MIT", License="x"), "MIT"),
        (Package(Classifier=["License :: OSI Approved :: BSD License", "Topic :: x"], License="x" * 900), "BSD License"),
        (Package(License="Apache 2.0\nand all of its text"), "Apache 2.0"),
        (Package(License="UNKNOWN"), UNKNOWN),
        (Package(Classifier=["License :: OSI Approved"]), UNKNOWN),
    ],
)
def test_where_a_licence_stands(package, licence):
    assert licence_of(package) == licence


def test_what_enstruct_stands_on_is_listed_with_what_that_stands_on():
    names = {one.name: one for one in dependencies()}
    assert {"torch", "numpy", "scikit-learn", "joblib", "markdown-it-py"} <= names.keys()  # the last is rich's
    assert names["markdown-it-py"].of == "rich"
    assert "enstruct" not in names
    assert {"pytest", "ruff"} <= {one.name for one in dependencies(PYPROJECT)}


def test_the_command_lists_them(capsys):
    assert main(["licences"]) == 0
    said = capsys.readouterr().out
    assert "torch" in said
    assert "0 of which declare no licence" in said
    assert main(["licences", "--pyproject", "nowhere.toml"]) == 2
