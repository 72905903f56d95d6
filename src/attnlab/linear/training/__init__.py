"""How linear transformers are trained: depth growth, Levenberg-Marquardt and the paper's recipe."""
