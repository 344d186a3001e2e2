"""``enstruct-bench``, one module a command."""
