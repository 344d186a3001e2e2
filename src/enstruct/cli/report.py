"""What ``enstruct report`` does; its options are declared in :mod:`enstruct.cli.parsers.report`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import Namespace

from enstruct.cli.outputs import check_free
from enstruct.cli.progress import working_bar
from enstruct.cli.tables import say
from enstruct.cli.task_files import files_of
from enstruct.cli.which_task import task_of_model
from enstruct.errors import ConfigError, DataError
from enstruct.files import write_text
from enstruct.report.subject import Subject
from enstruct.validation import one_of, optional


def run(options: Namespace) -> None:
    if options.out.suffix not in (".html", ".htm"):
        raise ConfigError(f"--out {options.out}: a report is a page, so name it FILE.html.")
    if options.out.resolve() == Path(options.data).resolve():
        raise ConfigError(f"--out {options.out} is the file to be reported on: name another.")
    check_free([options.out], options.overwrite)
    files = files_of(task_of_model(options.model))
    with working_bar("report"):
        model = files.load(options)
        optional(one_of("decision rule", model.rules_))("decision", options.decision)
        rule = model.decision_ if options.decision is None else options.decision
        every = files.read(model, options)
        total = files.counts(every)[files.task.parts]
        if not total:
            raise DataError(f"{options.data} holds no {files.task.parts}: there is nothing to report on.")
        data, numbers = files.reportable(model, every, options.seed)
        truth, metrics = files.truth(model, data), files.metrics(model, data)
        counts, predicted = {}, None
        for name, answers in files.by_fitted_rule(model, data):
            counts[name] = {metric: files.row_counts(model, of, truth, answers) for metric, of in metrics.items()}
            predicted = answers if name == rule else predicted
        empties = {name: metric.empty for name, metric in metrics.items()}
        seen = files.was_trained_on(model, options)
        folder = options.model.resolve()
        told = {"seed": options.seed, "remark": files.remark(model, truth), "total": total, "numbers": numbers}
        subject = Subject(model, folder, options.data, seen, rule, counts, empties, predicted, **told)
        page = files.report(subject, data, truth, every)
    write_text(options.out, page)
    say(f"report: {options.out}, {options.out.stat().st_size / 1000:.0f} kB; {rule} in force")
    if seen:
        say(f"these are the {files.task.parts} it was trained on, those held out among them: this is no test")
