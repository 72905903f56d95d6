"""Laws, rates and constructions of linear transformers."""
