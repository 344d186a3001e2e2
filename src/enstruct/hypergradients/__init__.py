"""How the energy's gradient is taken: the coupling between the two players. One file each."""

from enstruct.hypergradients.alternating import Alternating as Alternating
from enstruct.hypergradients.bilevel import Bilevel as Bilevel
from enstruct.hypergradients.bilevel import Coupling as Coupling
from enstruct.hypergradients.bilevel import Hypergradient as Hypergradient
from enstruct.hypergradients.bilevel import Player as Player
from enstruct.hypergradients.implicit import Implicit as Implicit
from enstruct.hypergradients.linear_solvers import ConjugateGradient as ConjugateGradient
from enstruct.hypergradients.linear_solvers import Diagonal as Diagonal
from enstruct.hypergradients.linear_solvers import Identity as Identity
from enstruct.hypergradients.linear_solvers import Neumann as Neumann
from enstruct.hypergradients.linear_solvers import ShermanMorrison as ShermanMorrison
from enstruct.hypergradients.unrolled import Unrolled as Unrolled
