"""Which networks the shipped files contain, as a table: planning a study opens no file.

The digest of a law's networks is part of the configuration of the cells that evaluate them, so that
results of other networks are not taken for theirs. Tests compare this table with the files.
"""

DIGESTS = {
    "uniform:0": "747c4dd7d839efba",
    "uniform:1": "70346e973c5e1af7",
    "uniform:2": "8c25d72be1329316",
    "uniform:3": "3d16743ea0cc5614",
    "uniform:4": "fbe31d0c3671f9f4",
    "uniform:5": "676a6fc406a461a8",
    "uniform:6": "dda9040cd2ae9354",
    "uniform:7": "a0d22d05abbb4d0e",
    "categorical:1,3": "28f3b6645fccbfbe",
    "categorical:1,3,5": "29e19c9c4165d9a6",
}
RUNS = (0, 1, 2, 3, 4, 5)  # of every law
# What the most extreme of 17 million sequences add to the loss of the best run, as a share of it,
# by noise law and depth; those of the other networks add less than a twentieth.
EXTREMES = {("uniform:0", 5): 0.163}
HEAT_MAP_DEPTH = 4  # of the network of Figure 4
DEEP_DIGESTS = {  # DIAG networks with seven to ten layers
    "uniform:1": "cab5c92573092ecd",
    "uniform:2": "af9e66b0645fdd0e",
    "uniform:3": "fe2f3c6a091b48a9",
    "uniform:4": "452b030ed5089e0b",
    "uniform:5": "96994d142c2acdb6",
    "uniform:6": "f37c33267e3a1825",
    "uniform:7": "560e03daa092ecf9",
    "categorical:1,3": "b7b4e1f0aa8e1d7f",
    "categorical:1,3,5": "5a0b2e0ff4370f14",
}
