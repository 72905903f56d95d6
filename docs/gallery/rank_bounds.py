"""Many heads of rank 1 against one bound

No layer of H heads of rank 1 can be better than the lower bound; random heads with the best values
show how near to it one comes.
"""

import altair as alt

from attnlab import rank

rows = []
for H in (8, 16, 32, 64, 128, 256):
    below = rank.lower_bound(8, 1, H, "C").value
    above = rank.exact_error(rank.random_heads(8, H, seed=0)).value
    assert below <= above
    rows += [
        {"heads": H, "error": below, "what": "lower bound"},
        {"heads": H, "error": above, "what": "random heads"},
    ]

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_line(point=True)
    .encode(
        x=alt.X("heads:Q", scale=alt.Scale(type="log", base=2, nice=False)),
        y=alt.Y("error:Q", scale=alt.Scale(zero=False)),
        color=alt.Color("what:N", title=None),
    )
)
