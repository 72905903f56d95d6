"""Linear transformers as in-context learners of noisy regression.

Vladymyrov, von Oswald, Sandler, Ge, arXiv 2402.14180.
"""
