"""Trained models as ONNX files, which answer without enstruct, torch or Python. Needs ``pip install enstruct[export]``.

| module | what it makes |
|---|---|
| ``labels`` | features -> probabilities and label sets, with the scaling, the rules and the decision rule |
| ``conditional`` | features and told labels -> probabilities of the others, by mean field |
| ``tags`` | token numbers -> probabilities and tags, legal ones by Viterbi |
| ``masks`` | images -> probabilities and masks |
| ``features``, ``trees``, ``decisions``, ``rules`` | the parts that these are made of, as modules of torch that can be traced |
| ``write`` | the files: traced, described, and held against the model |
"""

from enstruct.export.write import Exported, export_onnx

__all__ = ["Exported", "export_onnx"]
