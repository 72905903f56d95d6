"""Loss, answers and Jacobians of many small networks at once, in CUDA C++ and in plain JAX."""
