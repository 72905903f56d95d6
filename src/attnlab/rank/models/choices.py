"""The words that the models accept for their options; no JAX, so that a study can load them."""

from typing import Literal, get_args

Scores = Literal["softmax", "hardmax", "linear"]
"""What turns the scores of a query into weights over the keys."""
Products = Literal["auto", "unrolled", "dot"]
"""How the small products inside of heads are computed: written out, or as matrix products."""
Matmul = Literal["float32", "tensorfloat32", "bfloat16"]
"""Precision of the products with weights."""
Norm = Literal["scalar", "rms", "none"]
"""The norm after attention and perceptron."""
Encoding = Literal["none", "additive", "concatenated", "padded"]
"""Encodings of the positions."""

SCORES: tuple[Scores, ...] = get_args(Scores)
PRODUCTS: tuple[Products, ...] = get_args(Products)
MATMULS: tuple[Matmul, ...] = get_args(Matmul)
NORMS: tuple[Norm, ...] = get_args(Norm)
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
LEARNED_ENCODINGS: tuple[Encoding, ...] = ("additive", "concatenated")
