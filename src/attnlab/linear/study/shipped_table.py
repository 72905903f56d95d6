"""Which networks the shipped file contains, as a table: planning a study opens no file.

The digest of a law's networks is part of the configuration of the cells that evaluate them, so that
results of other networks are not taken for theirs. A test compares this table with the file.
"""

DIGESTS = {
    "uniform:0": "870c6660eccc086d",
    "uniform:1": "b43c7dec8b676e57",
    "uniform:2": "9e071d88003e57a7",
    "uniform:3": "e712dc22c925f1a6",
    "uniform:4": "9cece9c28615ea6c",
    "uniform:5": "6c075094bdd14447",
    "uniform:6": "52956a41db40e45a",
    "uniform:7": "5632723193f5db48",
    "categorical:1,3": "d4bd41437ba35b5d",
    "categorical:1,3,5": "209aa5b7c0c90ebf",
}
RUNS = (0, 1, 2, 3, 4, 5)  # of every law
HEAT_MAP_DEPTH = 4  # of the network of Figure 4
