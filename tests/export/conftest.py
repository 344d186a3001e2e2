"""The exporter's table of operators is the same for every graph: the tests of a worker make it once."""

import functools
from collections.abc import Iterator

import pytest
from torch.onnx._internal.exporter._registration import ONNXRegistry


@pytest.fixture(autouse=True, scope="session")
def _one_table_of_operators() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(functools.cache(ONNXRegistry.from_torchlib)))
        yield
