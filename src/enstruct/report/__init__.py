"""Reports: one HTML file about a fitted model and the data that it is asked about, which refers to nothing outside of itself.

``labels_page``, ``tags_page`` and ``masks_page`` of :mod:`~enstruct.report.labels`, :mod:`~enstruct.report.tags` and
:mod:`~enstruct.report.masks` write it as text; ``enstruct report`` reads the data and puts the file in place.
"""
