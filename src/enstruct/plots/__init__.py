"""Pictures of what was learnt; matplotlib is imported when one is drawn."""
