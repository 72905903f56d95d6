"""Trained networks that ship with the package: FULL linear transformers, and the regressor's.

The networks are evaluated afresh wherever they are used and always named as the reference run;
nothing here trains. `scripts/` has what made the files.
"""
