"""Ridge regression for all fits of one run: shared Gram matrices, many penalties and sizes."""
