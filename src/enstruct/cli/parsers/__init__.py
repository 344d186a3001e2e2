"""The options of each command, one module a command: its docstring describes the command, ``parser()`` declares its options, and
``add_actions``, where there is one, the commands below it.

Nothing here imports what the work needs: ``--help`` and a slip of the keyboard are answered at once.
"""
