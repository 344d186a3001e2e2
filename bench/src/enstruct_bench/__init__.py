"""The laboratory of enstruct: comparisons, the papers' tables and figures, tuning, reports, and what everything costs."""
