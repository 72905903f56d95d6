"""The lab runs cells, keeps their results, and judges claims. It knows nothing of attention."""
