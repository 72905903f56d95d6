"""Random transformers and their equivalent polynomial models (Demir, Dogan, arXiv 2509.15152).

A problem, its models, and three ways to their in-context error that are called alike: `law` in the
limit of large dimension, `refined` at finite dimension, and `simulate`.
"""

from attnlab.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
