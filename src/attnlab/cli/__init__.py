"""The command line: one file per command, each a typed dataclass that tyro parses.

Commands import what they need when they run, so that `--help` answers at once. A user's mistake
ends in one sentence and exit code 2; work that could not be done in one sentence and exit code 1.
"""
