"""The test runner lets nobody speak to other machines."""

import socket

import pytest


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 443)])
def test_other_machines_are_not_asked(address):
    with socket.socket() as opened, pytest.raises(OSError, match="tests use no network"):
        opened.connect(address)


def test_this_machine_is():
    with socket.socket() as listening, socket.socket() as opened:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        opened.connect(listening.getsockname())
