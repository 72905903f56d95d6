"""Trained networks that ship with the package: AXIS linear transformers, and the regressor's.

Nothing here trains. Wherever the networks are used they are evaluated again, and named as the
reference run. The programs that trained them are in `scripts/`.
"""
