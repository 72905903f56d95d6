"""Training of linear transformers: depth growth, Levenberg-Marquardt and Adam."""
