"""The laws of in-context error in the limit of large dimension, and their refinement."""
