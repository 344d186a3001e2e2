"""The systems of the implicit-training paper's Table 2, compact, from their papers' formulas, on one frozen encoder.

    seq2seq, sgm, ocd     an LSTM that writes labels one after another (:mod:`.decoder`, :mod:`.writing`)
    seqtag, laco          labels that look for their evidence in the text (:mod:`.queries`)

All read the encoder's states at every token through one bidirectional LSTM and are trained by one loop (:mod:`.fit`). Published,
they tune BERT; on a frozen encoder they show what their heads add.
"""
