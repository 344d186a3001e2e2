"""Whose features an energy uses."""

import pytest
import torch

from enstruct.encoders import MLP
from enstruct.energies import EnergySpec, build_energy
from enstruct.energies.build import refresh_features
from enstruct.errors import ConfigError


@pytest.fixture
def encoders():
    return MLP(4, 3, 1, 0.0), MLP(4, 3, 1, 0.0)


def learning(module):
    return {name for name, p in module.named_parameters() if p.requires_grad}


def test_separate_features_are_a_fresh_network(encoders):
    energy = build_energy(EnergySpec(), *encoders, n_labels=2)
    assert energy.encoder is encoders[1]


def test_copied_and_frozen_features(encoders):
    x = torch.randn(2, 4)
    for kind in ("copied", "frozen"):
        energy = build_energy(EnergySpec(features=kind), *encoders, n_labels=2)
        torch.testing.assert_close(energy.encoder(x), encoders[0](x))
        assert any(name.startswith("encoder") for name in learning(energy)) == (kind == "copied")
        with torch.no_grad():
            encoders[0].linears[0].bias.add_(1.0)
        assert not torch.allclose(energy.encoder(x), encoders[0](x))
        refresh_features(energy, encoders[0], kind)
        torch.testing.assert_close(energy.encoder(x), encoders[0](x))


def test_shared_features_follow_the_predictor_without_a_gradient(encoders):
    energy = build_energy(EnergySpec(features="shared"), *encoders, n_labels=2)
    assert not any(name.startswith("encoder") for name in learning(energy))
    x = torch.randn(2, 4)
    energy(energy.prepare(x), torch.rand(2, 1, 2)).sum().backward()
    assert all(p.grad is None for p in encoders[0].parameters())


@pytest.mark.parametrize("change", [{"terms": ("globl",)}, {"features": "sharde"}])
def test_unknown_names_are_told_the_nearest(change):
    with pytest.raises(ConfigError, match="Did you mean"):
        EnergySpec(**change)


def test_no_terms_is_refused():
    with pytest.raises(ConfigError, match="at least one term"):
        EnergySpec(terms=())


def test_the_conditional_pairwise_term_has_no_full_table():
    with pytest.raises(ConfigError, match="needs a rank"):
        build_energy(EnergySpec(terms=("local", "conditional-pairwise"), rank=None), MLP(4, 4), MLP(4, 4), 3)
