"""One ridge solver for all fits of a run: shared Gram matrices, many penalties and sizes."""
