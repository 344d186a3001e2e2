"""How the energy's gradient is taken: the coupling between the two players."""

from enstruct.hypergradients.alternating import Alternating as Alternating
