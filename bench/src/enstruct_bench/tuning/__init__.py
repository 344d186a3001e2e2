"""Search for settings, on validation rows only. Needs Optuna: ``pip install enstruct-bench``."""
