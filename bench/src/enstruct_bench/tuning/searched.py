"""What a search varies; it may not be set beside."""

SEARCHED = ("layers", "hidden", "dropout", "learning_rate")
SEARCHED_COLUMNS = ("energy_rate", "energy_weight", "energy_steps", "rounds_per_batch", "negatives", "n_samples")
"""Of the method's row."""
