"""The papers' tables as declarations, and the one runner that makes them."""
