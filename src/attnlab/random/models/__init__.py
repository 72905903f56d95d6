"""Linear attention, the random transformer, and its Hermite equivalents."""
