"""A trained network and its nearest diagonal one

The diagonal networks of Vladymyrov et al. have four numbers per layer, FULL ones two matrices per
head. How much of a trained FULL network is outside of the diagonal network nearest to it?
"""

import altair as alt

from attnlab.linear.reading.diagonal import nearest_diagonal
from attnlab.linear.weights.full import full_networks

held = full_networks()
rows = []
for law in ("categorical:1,3", "uniform:2", "uniform:3"):
    nearest = nearest_diagonal(held.network(law, depth=4).weights)
    rows += [
        {"layer": layer, "outside": float(distance**2), "noise": law}
        for layer, distance in enumerate(nearest.layer, 1)
    ]

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_line(point=True)
    .encode(
        x=alt.X("layer:Q", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("outside:Q", title="share of the squared norm off the diagonal"),
        color="noise:N",
    )
)
