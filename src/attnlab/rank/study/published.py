"""Numbers read off the paper's pictures, approximate: least training loss, best of five seeds.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Figures 1 to 4, d = 64. They are shown beside
ours. One verdict depends on their digits, that on the stream (`stream-never-repeats`), which allows
15 per cent for the reading; the published runs replay 100 batches.
"""

# Rate and number of batches of each figure in the published configuration files.
TRAINING = {
    "Figure 1": (0.01, 100_000),
    "Figure 3": (0.005, 200_000),
    "Figure 4": (0.005, 200_000),
}
TEXT = (0.01, 100_000)  # what Section 7 says of all experiments

RANKS_1 = (1, 8, 32, 64)

# Figure 1: (layers, width) -> MSE at r = 1, 8, 32, 64.
FIGURE_1 = {
    (1, "d²"): (0.86, 0.83, 0.70, 0.0155),
    (1, "d^2.5"): (0.82, 0.73, 0.43, 0.0069),
    (1, "d³"): (0.65, 0.57, 0.31, 0.0020),
    (3, "d²"): (0.81, 0.22, 0.052, 0.0032),
    (3, "d^2.5"): (0.59, 0.11, 0.036, 0.0070),
    (3, "d³"): (0.52, 0.042, 0.056, 0.00075),
    (5, "d²"): (0.90, 0.78, 0.69, 0.60),
    (5, "d^2.5"): (0.41, 0.061, 0.02, 0.0065),
    (5, "d³"): (0.43, 0.026, 0.014, 0.0021),
}

# Figure 2: heads of full rank at L = 1 -> angle of K Q^T to the identity, in degrees.
FIGURE_2 = {1: 179.6, 8: 176.0, 64: 168.5}

RANKS_3 = (1, 8, 64)

# Figure 3, L = 3: encoding -> MSE at r = 1, 8, 64.
FIGURE_3 = {
    "none": (0.57, 0.11, 0.007),
    "additive": (0.48, 0.094, 0.0085),
    "concatenated": (0.13, 0.002, 0.0001),
}

RANKS_4 = (1, 32, 64)

# Figure 4: N -> MSE at r = 1, 32, 64.
FIGURE_4 = {256: (1.17, 0.54, 0.04), 16: (0.63, 0.23, 0.005), 4: (0.024, 0.006, 0.007)}
