"""x -> features, and what makes logits of them: a predictor is an encoder and a linear head; a forest answers by itself."""

from enstruct.encoders.bilstm import BiLSTM as BiLSTM
from enstruct.encoders.boosted import BoostedTrees as BoostedTrees
from enstruct.encoders.conv import FCN as FCN
from enstruct.encoders.forest import Forest as Forest
from enstruct.encoders.label_tree import LabelTree as LabelTree
from enstruct.encoders.mlp import MLP as MLP
from enstruct.encoders.predictor import LinearPredictor as LinearPredictor
from enstruct.encoders.predictor import Predictor as Predictor
from enstruct.encoders.sparse_mlp import SparseLinear as SparseLinear
from enstruct.encoders.tokens import TokenEmbedding as TokenEmbedding
from enstruct.encoders.unet import UNet as UNet
