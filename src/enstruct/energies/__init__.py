"""E(x, y), lower is better: ``state = energy.prepare(x)``, then ``energy(state, y) -> (batch, samples)``."""

from enstruct.energies.base import ModuleEnergy as ModuleEnergy
from enstruct.energies.base import State as State
from enstruct.energies.base import SumEnergy as SumEnergy
from enstruct.energies.beliefs import BeliefEnergy as BeliefEnergy
from enstruct.energies.build import EnergySpec as EnergySpec
from enstruct.energies.build import build_energy as build_energy
from enstruct.energies.chain import ChainEnergy as ChainEnergy
from enstruct.energies.conv import ConvEnergy as ConvEnergy
from enstruct.energies.local import LocalEnergy as LocalEnergy
from enstruct.energies.measurements import ConditionalEnergy as ConditionalEnergy
from enstruct.energies.measurements import GlobalEnergy as GlobalEnergy
from enstruct.energies.pairwise import ConditionalPairwiseEnergy as ConditionalPairwiseEnergy
from enstruct.energies.pairwise import PairwiseEnergy as PairwiseEnergy
from enstruct.energies.tag_lm import TagLanguageEnergy as TagLanguageEnergy
from enstruct.energies.tag_lm import TagLanguageModel as TagLanguageModel
