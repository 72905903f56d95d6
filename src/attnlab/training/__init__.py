"""The population trainer: any loss, many members in one compiled program.

`population.train` is the entry; `options.TrainingOptions` says how the members are trained and
`checkpoint` how a run is saved and resumed. One model is the population of size one. Nothing here
knows a paper.
"""
