"""Attention layers with heads of any rank, and the encoder of the experiments."""
