"""Parquet, a file or a folder of parts: columns of numbers, of texts, or of lists, whose cells may be empty (null).

Numbers and booleans stay numbers, as long as double precision tells them apart; a list is its items, each closed by ``;``; all
else is as a text says it. Read by pyarrow (extra ``parquet``), block by block and only the columns that are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.kinds import parquet_parts
from enstruct.data.opening import is_file, is_folder
from enstruct.data.tables.table_file import WHOLE, Block, Cells, Listed, TableFile
from enstruct.errors import ConfigError, DatasetNotFoundError, EnstructError, ParseError, shown

ROWS = 4096
"""Of a block."""
NUMBERED = re.compile(r"__index_level_\d+__|__null_dask_index__")
"""Columns in which pandas and Dask keep the numbers of rows."""


class ParquetFile(TableFile):
    """Places are rows from 1 on, counted through all parts, whose columns must be the same."""

    unit, header = "row", None

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._parts = parquet_parts(path) if is_folder(path) else [path]
        if not self._parts or not all(map(is_file, self._parts)):
            what = "nor a folder of that name that holds .parquet files"
            raise DatasetNotFoundError(f"There is no file {shown(str(path), 150)}, {what}.")
        if find_spec("pyarrow") is None:
            raise ConfigError("Parquet is read by pyarrow, which is not here: pip install 'enstruct[parquet]'.")
        for number, part in enumerate(self._parts):
            names = _names(part)
            if number == 0:
                self.names = names
            elif odd := [name for name in (*self.names, *names) if (name in self.names) != (name in names)]:
                raise ParseError(f"column {shown(odd[0])} is not in all parts: leave other tables out of the folder", part)
        self.check_header()

    def close(self) -> None:
        """Nothing: parts are open only while they are read."""

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """The columns ``names``. ParseError where a page cannot be read, too."""
        import pyarrow.parquet as pq

        wanted = self.names if names is None else [*names]
        first = 1
        for part in self._parts:
            with _readable(part):
                file = pq.ParquetFile(part)
            with file:
                batches = file.iter_batches(ROWS, columns=wanted)
                while True:
                    with _readable(part):
                        batch = next(batches, None)
                        if batch is None:
                            break
                        columns = {name: _cells(batch.column(name)) for name in wanted}
                    yield Block(columns, range(first, first + batch.num_rows))
                    first += batch.num_rows
        if first == 1:
            raise self.error("there are no rows")


def _names(part: Path) -> list[str]:
    import pyarrow.parquet as pq

    with _readable(part):
        return [name for name in pq.read_schema(part).names if not NUMBERED.fullmatch(name)]


def _cells(column: Any) -> Cells:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if _is_number(kind) and not (types.is_integer(kind) and _is_beyond_double(column)):
        precision = pa.float32() if types.is_float32(kind) or types.is_float16(kind) else pa.float64()
        return np.asarray(column.cast(precision, safe=False).to_numpy(zero_copy_only=False))
    if types.is_temporal(kind):  # Python's own dates end with the year 9999
        column = column.cast(pa.string())
    return tuple(map(_text, column.to_pylist()))


def _is_number(kind: Any) -> bool:
    """Decimals are texts, which say all of their digits."""
    from pyarrow import types

    return any(holds(kind) for holds in (types.is_integer, types.is_floating, types.is_boolean, types.is_null))


def _is_beyond_double(column: Any) -> bool:
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return any(end is not None and abs(end) >= WHOLE for end in ends.values())


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return Listed([_text(item) for item in value if item is not None])
    return str(value)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """ParseError for what pyarrow cannot read: names and texts that are no UTF-8 among it."""
    import pyarrow as pa

    try:
        yield
    except EnstructError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise ParseError(f"not a readable Parquet file ({shown(str(error), 100)})", path) from error
