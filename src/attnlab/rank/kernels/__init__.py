"""GPU kernels of the encoder."""
