"""attnlab: a laboratory for the theory of attention."""

__version__ = "0.1.0"
