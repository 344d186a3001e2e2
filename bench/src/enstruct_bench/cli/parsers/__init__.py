"""The options of each command of ``enstruct-bench``, as :mod:`enstruct.cli.parsers` has those of ``enstruct``."""
