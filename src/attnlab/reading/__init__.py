"""Reading: weights in, the algorithm they carry out."""
