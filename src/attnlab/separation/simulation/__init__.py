"""Monte Carlo of what the theory computes: the probability of success, and sums of random signs."""

from attnlab.separation.simulation.monte_carlo import simulate
from attnlab.separation.simulation.random_sums import sign_sums

__all__ = ["sign_sums", "simulate"]
