"""Everything that answers a prompt: attention layers, the encoder, and networks built by hand."""
