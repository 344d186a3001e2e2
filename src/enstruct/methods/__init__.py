"""The method tables: every published system is a row of values, for label sets, tag sequences and masks."""

from enstruct.methods.labels import METHODS as METHODS
from enstruct.methods.labels import get_method as get_method
from enstruct.methods.masks import MASK_METHODS as MASK_METHODS
from enstruct.methods.method import Method as Method
from enstruct.methods.method import PredictorLoss as PredictorLoss
from enstruct.methods.stages import ENERGY_ALONE as ENERGY_ALONE
from enstruct.methods.stages import NOISE_THEN_ENERGY as NOISE_THEN_ENERGY
from enstruct.methods.stages import PREDICTOR_ALONE as PREDICTOR_ALONE
from enstruct.methods.stages import PRETRAINED_UNARIES as PRETRAINED_UNARIES
from enstruct.methods.stages import THEN_PREDICTOR as THEN_PREDICTOR
from enstruct.methods.stages import THREE_STAGES as THREE_STAGES
from enstruct.methods.stages import TOGETHER as TOGETHER
from enstruct.methods.stages import WARM_START_THEN_GAME as WARM_START_THEN_GAME
from enstruct.methods.stages import Stage as Stage
from enstruct.methods.tags import TAG_METHODS as TAG_METHODS
