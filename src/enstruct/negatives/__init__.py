"""Where the candidates come from that an energy is trained against.

| source | candidates a row | log-probability | file |
|---|---|---|---|
| ``PredictorPoint`` | the predictor's relaxed output, or its rounding | no | predictor |
| ``PredictorSamples`` | K binary draws from the predictor | yes | predictor |
| ``ConditionalSamples`` | K draws from the predictor of some labels, the others as they truly are | yes | conditional |
| ``LabelFlips`` | the truth with one label flipped, every label or K of them | no | flips |
| ``TokenChanges`` | for each token, all its other tags at once by their free energy | no | token_changes |
| ``PerturbedSamples`` | K - 1 outputs with Gaussian noise on the logits, and the output itself | no | predictor |
| ``CostAugmentedNet`` | the output of a net trained to find low energy at high cost (and the predictor's) | no | augmented |
| ``InferencePoint`` | the minimiser of the energy, cost-augmented or not | no | inference |
| ``ValueTuples`` | the minimiser, an adversarial output, the truth | no | inference |
| ``ValueMixtures`` | the truth, a point of inference, mixtures of the truth with other outputs | no | mixtures |
| ``UnrolledIterates`` | the iterates of inference, with their graph | no | inference |
| ``SearchPair`` | the minimiser, and a better output found by reward (it comes first) | no | inference |
| ``FreeEnergy`` | all outputs at once, by inference with their entropy | no | free_energy |
| ``Normalised`` | all outputs at once, where they sum to one by construction | no | free_energy |
| ``Partition`` | all outputs at once, by their free energy | no | partition |

Every source is a value: ``source.build(space, n_outputs, predictor)`` gives the running object, a module so that a
source may own parameters. Those of file ``predictor`` pass a gradient to the logits they are given
(discrete draws by a sample gradient), which bilevel training needs.
"""

from enstruct.negatives.augmented import AugmentedNet as AugmentedNet
from enstruct.negatives.augmented import CostAugmentedNet as CostAugmentedNet
from enstruct.negatives.base import Candidates as Candidates
from enstruct.negatives.base import Negatives as Negatives
from enstruct.negatives.base import NegativeSource as NegativeSource
from enstruct.negatives.base import Situation as Situation
from enstruct.negatives.conditional import ConditionalSamples as ConditionalSamples
from enstruct.negatives.flips import LabelFlips as LabelFlips
from enstruct.negatives.free_energy import FreeEnergy as FreeEnergy
from enstruct.negatives.free_energy import Normalised as Normalised
from enstruct.negatives.inference import InferencePoint as InferencePoint
from enstruct.negatives.inference import SearchPair as SearchPair
from enstruct.negatives.inference import UnrolledIterates as UnrolledIterates
from enstruct.negatives.inference import ValueTuples as ValueTuples
from enstruct.negatives.mixtures import ValueMixtures as ValueMixtures
from enstruct.negatives.partition import Partition as Partition
from enstruct.negatives.predictor import PerturbedSamples as PerturbedSamples
from enstruct.negatives.predictor import PredictorPoint as PredictorPoint
from enstruct.negatives.predictor import PredictorSamples as PredictorSamples
from enstruct.negatives.sample_gradients import SAMPLE_GRADIENTS as SAMPLE_GRADIENTS
from enstruct.negatives.token_changes import TokenChanges as TokenChanges
