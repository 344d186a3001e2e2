"""``enstruct encoder``: what a network would give is put in its place, and folders are read from disk."""

import pytest
import torch
from safetensors.torch import load_file
from tests.generated_texts import tiny_encoder

from enstruct.cli import encoder
from enstruct.cli.main import main
from enstruct.encoders.text import TextEncoder
from enstruct.errors import ConfigError


def test_fetching_says_where_it_is(monkeypatch, tmp_path, capsys):
    asked = []
    monkeypatch.setattr(encoder, "download", lambda *what: (asked.append(what), tmp_path)[1])
    assert main(["encoder", "fetch", "somebody/small", "--revision", "v1"]) == 0
    assert main(["encoder", "fetch", "somebody/old", "--pickled"]) == 0
    assert asked == [("somebody/small", "v1", False), ("somebody/old", None, True)]
    assert f"somebody/small is in {tmp_path}" in " ".join(capsys.readouterr().out.split())


def test_a_hub_that_gives_nothing_is_a_sentence(monkeypatch, capsys):
    def nothing(name, revision, pickled):
        raise ConfigError("The hub does not give 'x': no connection")

    monkeypatch.setattr(encoder, "download", nothing)
    assert main(["encoder", "fetch", "x"]) == 2
    assert "The hub does not give 'x'" in capsys.readouterr().err


def test_pickled_weights_are_converted_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_CACHE", str(tmp_path / "cache"))
    folder = tiny_encoder(tmp_path / "tiny")
    expected = TextEncoder(str(folder)).fit_transform(["corn and wheat"])
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="`enstruct encoder convert FOLDER`"):
        TextEncoder(str(folder)).fit_transform(["corn and wheat"])
    assert main(["encoder", "convert", str(folder)]) == 0
    assert "model.safetensors written" in " ".join(capsys.readouterr().out.split())
    assert (TextEncoder(str(folder)).fit_transform(["corn and wheat"]) == expected).all()
    assert main(["encoder", "convert", str(tmp_path)]) == 2
    assert "no pickled weights" in " ".join(capsys.readouterr().err.split())
