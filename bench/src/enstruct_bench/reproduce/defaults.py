"""What a reproduction takes where nothing is said."""

SEEDS = 5
