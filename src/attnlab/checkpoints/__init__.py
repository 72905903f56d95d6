"""The heads of a real transformer, read from its checkpoint: ranks of Q K^T and V O."""
