"""The command line. Each module is one command: ``parser()`` declares its options, ``run(options)`` does it."""
