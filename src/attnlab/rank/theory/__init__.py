"""Lower and upper bounds and exact errors for heads of rank r."""
