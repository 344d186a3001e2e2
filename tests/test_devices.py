"""Copies to a device, losses as numbers, networks that move."""

import pytest
import torch

from enstruct.devices import bring, moved, number


def test_on_a_processor_a_copy_is_a_cast_and_a_loss_is_a_float():
    x = torch.arange(3)
    assert moved(x, "cpu") is x
    assert moved(x, "cpu", torch.float64).dtype == torch.float64
    loss = (torch.ones((), requires_grad=True) * 2.5).sum()
    assert number(loss) == 2.5
    assert isinstance(number(loss), float)


@pytest.mark.parametrize("network", [torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2, affine=False)])
def test_a_network_is_brought_to_a_device_once(network):
    bring(network, torch.device("meta"))
    tensors = [*network.parameters(), *network.buffers()]
    assert all(tensor.device.type == "meta" for tensor in tensors)
    bring(network, torch.device("meta"))
    assert [id(tensor) for tensor in [*network.parameters(), *network.buffers()]] == [id(tensor) for tensor in tensors]


def test_what_is_not_there_or_has_no_weights_stays():
    bring(None, torch.device("meta"))
    bring(torch.nn.ReLU(), torch.device("meta"))
