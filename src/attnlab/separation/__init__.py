"""What softmax attention separates and linear attention cannot.

Deng, Song, Zhou, arXiv 2310.11685.
"""
