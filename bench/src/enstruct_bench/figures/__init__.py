"""What the papers' figures ask of a fitted energy; ``enstruct-bench figure`` prints, draws and stores each.

| file | question | figure |
|---|---|---|
| ``convergence`` | how many steps does inference need, and what does stopping early cost? | SPEN 2, 3, 4 |
| ``answers`` | are relaxed answers nearly binary? | SPEN section 7.4 |
| ``search_error`` | how often does inference miss the minimum? | |
| ``measurements`` | what does a global energy measure, and which labels does it keep apart? | SPEN 1, 5 |
| ``refinement`` | what does a feed-forward answer gain from a few steps, and what do they cost? | |
| ``starts`` | does inference help from the predictor's output, and from anywhere else, as training goes on? | SEAL 3, 4, 5 |
| ``objectives`` | is an energy better as a loss or as a predictor? | SEAL 2b |
| ``interactions`` | which labels does the energy draw together, beside how often they occur together? | implicit training 1 |
| ``couplings`` | what do alternating, unrolled and implicit training come to within the same seconds? | |
| ``singular`` | a toy where the explicit gradient vanishes and the implicit one does not | implicit training, appendix D |
| ``sample_gradients`` | bias and spread of the gradients through discrete samples | |
| ``line`` | the energy along the straight line from the prediction to the truth | |

Each has ``measure(...) -> dict`` of plain numbers and ``draw(figures, path)``.
"""
