"""Training of the paper's encoders, of bare layers, and of heads against the lower bound."""
