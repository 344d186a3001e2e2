"""Files of ``enstruct-bench tune --json``, whole and damaged."""

import json

import pytest
from tests.damage import with_wrong_fields

from enstruct.errors import ConfigError, DataError
from enstruct_bench.comparison.tuned_settings import Tuned

SPEC = {"value": "EnergySpec", "fields": {"units": 200}}
BEST = {"method": "seal-nce", "metric": "example-f1", "trials": {"complete": 2}, "best": 0, "value": 0.5, "fixed": {"hidden": 8}}
BEST |= {"settings": {"learning_rate": 0.1, "energy_network": SPEC}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "best.json"
    path.write_text(json.dumps({"data": "x", "split_seed": 0, "best": [BEST, {**BEST, "method": "mlp"}]}))
    return path


def test_whatever_is_wrong_with_a_file_is_said(file):
    said = []
    for _ in with_wrong_fields(file, times=100):
        try:
            tuned = Tuned.read(file, "example-f1")
            tuned.of("mlp", tuned.shared({}))
        except (DataError, ConfigError) as error:
            said.append(str(error))
    assert len(said) > 30
    assert all("best.json" in each for each in said)
    assert Tuned.read(file, "example-f1").settings["mlp"]["energy_network"].units == 200


@pytest.mark.parametrize(
    ("where", "change", "message"),
    [
        ("settings", {"learning_rat": 0.1}, "settings of seal-nce: there is no parameter 'learning_rat'"),
        ("settings", {"energy_network": {"value": "Nothing"}}, "settings of seal-nce: energy_network cannot be read"),
        ("settings", {"energy_network": {**SPEC, "fields": {"bogus": 1}}}, "energy_network cannot be read"),
        ("settings", {"energy_weight": 10**400}, "it holds a number of more than 64 bits"),
        ("fixed", {"hiden": 8}, "fixed: there is no parameter 'hiden'"),
        ("trials", {"complete": "2"}, r"Expected `int`, got `str` - at `\$\.best\[0\]\.trials"),
    ],
)
def test_a_field_that_is_wrong_is_named(where, change, message, file):
    content = json.loads(file.read_text())
    content["best"][0][where] = change
    file.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        Tuned.read(file, "example-f1")


def test_no_method_at_all(file):
    file.write_text('{"best": []}')
    with pytest.raises(DataError, match="no method"):
        Tuned.read(file, "example-f1")
