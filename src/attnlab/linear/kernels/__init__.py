"""Fast implementations of the linear recursion, for CPUs and GPUs.

The definition of the recursion is `attnlab.linear.models.transformer`, against which each of them
is tested.
"""
