"""A second layer lets heads vote

One layer of heads of rank 1 cannot get below the lower bound. The same heads that vote by majority
in a second layer can: their error has an exact law.
"""

import altair as alt

from attnlab import rank

rows = []
for H in (1, 3, 9, 27, 81, 243, 729, 2187, 6561):
    one, two = rank.lower_bound(64, 1, H).value, rank.majority_vote_error(64, H).value
    rows += [
        {"heads": H, "error": one, "what": "one layer, at least"},
        {"heads": H, "error": two, "what": "two layers that vote"},
    ]
assert rows[-1]["error"] < rows[-2]["error"]

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_line(point=True)
    .encode(
        x=alt.X("heads:Q", title="heads of rank 1", scale=alt.Scale(type="log", nice=False)),
        y="error:Q",
        color=alt.Color("what:N", title=None),
    )
)
