"""Which networks the shipped file contains, as a table: planning a study opens no file.

The digest of a law's networks is part of the configuration of the cells that evaluate them, so that
results of other networks are not taken for theirs. A test compares this table with the file.
"""

DIGESTS = {
    "uniform:0": "747c4dd7d839efba",
    "uniform:1": "70346e973c5e1af7",
    "uniform:2": "8c25d72be1329316",
    "uniform:3": "4abb257729f69bc2",
    "uniform:4": "641deefcce0a7997",
    "uniform:5": "676a6fc406a461a8",
    "uniform:6": "5fcede5a797ce990",
    "uniform:7": "23bd659029229f68",
    "categorical:1,3": "ee33b522b69a646c",
    "categorical:1,3,5": "29e19c9c4165d9a6",
}
RUNS = (0, 1, 2, 3, 4, 5)  # of every law
HEAT_MAP_DEPTH = 4  # of the network of Figure 4
