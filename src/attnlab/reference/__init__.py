"""What results are compared with: a paper's own numbers, and trained networks that ship.

The networks are evaluated afresh wherever they are used and always named as the reference run;
nothing here trains. `linear_table` is a paper's table as printed, `linear` has the FULL linear
transformers, which took an accelerator, and `pack` makes their file.
"""
