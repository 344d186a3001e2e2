"""Raw text with label sets: public collections, sides, and the table that compares them."""
