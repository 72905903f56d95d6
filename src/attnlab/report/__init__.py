"""The ledger of claims and the figures, for people: as a web site and in the terminal.

Everything here reads finished results; nothing is computed. Import the module you need
(`site`, `terminal`, `server`): this package alone imports nothing.
"""
