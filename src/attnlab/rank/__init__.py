"""The rank of attention heads against their number (Amsel, Yehudai, Bruna, arXiv 2407.16153)."""
