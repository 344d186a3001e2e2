"""Parquet, a file or a folder of parts: columns of numbers, of texts, or of lists, whose cells may be empty (null).

Numbers, booleans and decimals stay numbers; a list is read as the names in it, each closed by ``;``; texts, and what else there
is, as a text says it. Read by pyarrow (extra ``parquet``), block by block and only the columns that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.kinds import parquet_parts
from enstruct.data.opening import is_folder
from enstruct.data.tables.table_file import Block, Cells, TableFile, check_header
from enstruct.errors import ConfigError, DatasetNotFoundError, EnstructError, ParseError, shown

ROWS = 4096
"""Of a block."""


class ParquetFile(TableFile):
    """Places are rows from 1 on, counted through all parts, whose columns must be the same."""

    unit, header = "row", None

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if not path.exists():
            raise DatasetNotFoundError(f"There is no file {shown(str(path), 150)}.")
        if find_spec("pyarrow") is None:
            raise ConfigError("Parquet is read by pyarrow, which is not here: pip install 'enstruct[parquet]'.")
        self._open = ExitStack()
        self._parts: list[Any] = []
        try:
            for part in parquet_parts(path) if is_folder(path) else [path]:
                self._add(part)
            check_header(self, self.names)
        except BaseException:
            self.close()
            raise

    def _add(self, part: Path) -> None:
        import pyarrow.parquet as pq

        with _readable(part):
            file = self._open.enter_context(pq.ParquetFile(part))
            pandas = file.schema_arrow.pandas_metadata or {}
            index = {name for name in pandas.get("index_columns", ()) if isinstance(name, str)}  # numbers of rows
            names = [name for name in file.schema_arrow.names if name not in index]
        if not self._parts:
            self.names = names
        elif {*names} != {*self.names}:
            odd = next(iter({*names} ^ {*self.names}))
            raise ParseError(f"column {shown(odd)} is not in all parts: leave other tables out of the folder", part)
        self._parts.append(file)

    def close(self) -> None:
        self._open.close()

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """The columns ``names``. ParseError where a page cannot be read, too."""
        wanted = self.names if names is None else [*names]
        first = 1
        for file in self._parts:
            batches = file.iter_batches(ROWS, columns=wanted)
            while True:
                with _readable(self.path):
                    batch = next(batches, None)
                    if batch is None:
                        break
                    columns = {name: self._cells(batch.column(name), name, first) for name in wanted}
                yield Block(columns, range(first, first + batch.num_rows))
                first += batch.num_rows
        if first == 1:
            raise self.error("there are no rows")

    def _cells(self, column: Any, name: str, first: int) -> Cells:
        import pyarrow as pa

        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if _is_number(kind):
            return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
        values = column.to_pylist()
        if _is_list(kind):
            return tuple(self._joined(value, name, first + k) for k, value in enumerate(values))
        return tuple("" if value is None else str(value) for value in values)

    def _joined(self, items: list[Any] | None, name: str, place: int) -> str:
        names = [str(item) for item in items or () if item is not None]
        if odd := next((each for each in names if ";" in each or "|" in each), None):
            raise self.error(f"{shown(odd)} in a list holds a ; or |, which separate names: rename it", place, name)
        return "".join(f"{each};" for each in names)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(holds(kind) for holds in numbers)


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return any(holds(kind) for holds in (types.is_list, types.is_large_list, types.is_fixed_size_list))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """ParseError for what pyarrow cannot read: names, texts and pandas' notes that are no UTF-8 or no JSON among it."""
    import pyarrow as pa

    try:
        yield
    except EnstructError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise ParseError(f"not a readable Parquet file ({shown(str(error), 100)})", path) from error
