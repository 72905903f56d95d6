"""What another layer is worth

The loss of the shipped AXIS networks by their number of layers, beside two laws: no single layer
is better than the first, and GD++ of any depth is no better than the second.
"""

import altair as alt

from attnlab import linear

problem = linear.NoisyRegression(d=10, n=20, noise=linear.Uniform(5))
held = linear.shipped()
levels = {
    "best single layer": linear.one_layer_loss(problem).value,
    "GD++, any depth": linear.gd_plus_plus_floor(problem).value,
}
rows = [
    {"layers": depth, "loss": held.network(problem.noise, depth).loss.value, "what": "AXIS"}
    for depth in held.depths("uniform:5", run=0)
]
ends = (rows[0]["layers"], rows[-1]["layers"])
rows += [
    {"layers": depth, "loss": loss, "what": name} for name, loss in levels.items() for depth in ends
]

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_line(point=True)
    .encode(
        x=alt.X("layers:Q", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("loss:Q", scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("what:N", title=None),
    )
)
