"""Methods side by side: the same rows, the same budget, the same decision rules."""
