"""Reading a linear transformer: weights in, the algorithm they carry out."""
