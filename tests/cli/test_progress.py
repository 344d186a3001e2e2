"""What stands beside a bar."""

import logging

from enstruct.cli.progress import working_bar

LOG = logging.getLogger("enstruct.work")


def test_what_is_logged_is_shown_and_nothing_stays(monkeypatch, capsys):
    notes = []
    monkeypatch.setattr("rich.progress.Progress.update", lambda bar, task, note: notes.append(note))
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program; pytest listens
    library = logging.getLogger("enstruct")
    before = library.level, [*library.handlers]
    with working_bar("training"):
        LOG.info("base %s: %d s", "linear", 3)
        LOG.debug("nothing to show")
        LOG.warning("a feature is empty")
    assert notes == ["base linear: 3 s"]
    assert capsys.readouterr().err == "a feature is empty\n"
    assert (library.level, library.handlers) == before
