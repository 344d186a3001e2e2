"""What ``enstruct export`` does; its options are declared in :mod:`enstruct.cli.parsers.export`."""

from __future__ import annotations

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from enstruct.cli.progress import working_bar
from enstruct.cli.tables import say
from enstruct.cli.task_files import files_of
from enstruct.cli.which_task import task_of_model
from enstruct.export import export_onnx


def run(options: Namespace) -> None:
    model = files_of(task_of_model(options.model)).load(options)
    with working_bar("exporting"):
        files = export_onnx(model, options.out, decision=options.decision, rows=options.rows, overwrite=options.overwrite)
    table = Table("file", "bytes", "of its weights", "rows checked", "largest difference")
    for file in files:
        table.add_row(
            file.path.name, f"{file.size:,}", f"{file.size / file.weights:.2f}", str(file.rows), f"{file.difference:.1g}"
        )
    Console().print(table)
    say(f"{options.out}: decisions equal the model's in all rows checked; read it with onnxruntime")
