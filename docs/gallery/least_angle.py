"""How near to the identity heads can be

A form of rank r in d dimensions is at least arccos(sqrt(r/d)) away from the identity. The heads of
public models are far from what the theorems on full rank ask for.
"""

import altair as alt

from attnlab import rank

rows = [
    {"model": name, "angle": size.least_angle, "r/d": size.rank / size.d}
    for name, size in rank.PUBLIC_SIZES.items()
]

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_bar()
    .encode(
        x=alt.X("angle:Q", title="least angle to the identity, degrees"),
        y=alt.Y("model:N", sort="x", title=None),
    )
)
