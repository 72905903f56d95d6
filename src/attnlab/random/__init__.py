"""Random transformers and their equivalent polynomial models (Demir, Dogan, arXiv 2509.15152)."""
