"""Charts as pictures: one look for all of them, Vega-Lite documents, and the files drawn from them.

Nothing here knows of studies or stores. Altair and vl-convert are imported when something is drawn.
"""
