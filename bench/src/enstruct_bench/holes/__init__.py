"""Label tables with holes: what is made of the cells that were observed, and of those that a user tells."""
