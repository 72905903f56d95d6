"""Results that took an accelerator, shipped with the package, with how they were made.

They are evaluated afresh wherever they are used and always named as the reference run; nothing here
trains. `attnlab.reference.linear` has the FULL linear transformers, `attnlab.reference.pack` makes
their file.
"""
