"""Lower and upper bounds, and constructions, for heads of rank r."""
