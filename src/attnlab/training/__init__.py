"""Training: turns a model family and a problem into trained members.

A population is trained together; one member is the case of size one. Nothing here knows a study.
"""
