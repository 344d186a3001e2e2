"""Budgets of tables that other commands make."""

import signal
import time

import pytest

from enstruct.errors import ConfigError
from enstruct_bench.reproduce.budget import within


def test_what_runs_is_interrupted_and_what_was_to_follow_goes_on():
    said, former = [], signal.getsignal(signal.SIGALRM)
    begin = time.monotonic()
    with within(0.2 / 60, said.append):
        time.sleep(30)
    assert time.monotonic() - begin < 20
    assert "the budget is spent" in said[0]
    assert signal.getsignal(signal.SIGALRM) is former


def test_other_ends_are_as_they_would_be():
    said = []
    with pytest.raises(ValueError, match="of its own"), within(60, said.append):
        raise ValueError("of its own")
    with pytest.raises(KeyboardInterrupt), within(60, said.append):
        raise KeyboardInterrupt
    for minutes in (None, 60):
        with within(minutes, said.append):
            pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert not said


def test_a_system_without_alarms_says_so(monkeypatch):
    monkeypatch.delattr(signal, "setitimer")
    with pytest.raises(ConfigError, match="no alarms"), within(1, print):
        pass
