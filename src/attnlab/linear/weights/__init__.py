"""Trained networks that ship with the package: FULL and AXIS linear transformers, the regressor's.

Nothing here trains. Wherever the networks are used they are evaluated again, and named as the
reference run. The programs that trained them are in `scripts/`.
"""
