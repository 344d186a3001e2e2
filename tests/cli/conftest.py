"""Commands are typed in a folder that a module has filled."""

import pytest


@pytest.fixture
def here(folder, monkeypatch, capsys):
    """The module's ``folder``, with nothing said yet."""
    monkeypatch.chdir(folder)
    capsys.readouterr()
    return folder
