"""Which networks the shipped file contains, as a table: planning a study opens no file.

The digest of a law's networks is part of the configuration of the cells that evaluate them, so that
results of other networks are not taken for theirs. A test compares this table with the file.
"""

DIGESTS = {
    "uniform:0": "34c536ed0fd04242",
    "uniform:1": "69b5619ee9b763c1",
    "uniform:2": "27188718b66a8e3a",
    "uniform:3": "12576d14c5485be7",
    "uniform:4": "f9dfce7a57880e27",
    "uniform:5": "c6c519e08866a667",
    "uniform:6": "6bb4368da859e2f4",
    "uniform:7": "606df3f654fac3ce",
    "categorical:1,3": "5688e91452cc7979",
    "categorical:1,3,5": "0fc8a6418b3e50c7",
}
RUNS = (0, 1, 2, 3, 4, 5)  # of every law
HEAT_MAP_DEPTH = 4  # of the network of Figure 4
