"""Kernels in CUDA C++ for networks on many small matrices, compiled where they are used."""
