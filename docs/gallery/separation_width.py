"""How many neurons are best

More neurons find the spike more surely and are fooled by the bulk more often. The law of one neuron
gives the success of every width at once, and with it the best one.
"""

import altair as alt

from attnlab import separation

rows, best = [], []
for d in (10, 22, 42):
    law = separation.neuron_law(
        separation.SelfAttentionPair(n=(d - 2) * 10, d=d), separation.AttentionNetwork()
    )
    rows += [{"m": m, "success": separation.success_from(law, m), "d": d} for m in range(1, 60)]
    m = separation.best_width(law).integer
    best.append({"m": m, "success": separation.success_from(law, m), "d": d})
    assert best[-1]["success"] >= max(row["success"] for row in rows if row["d"] == d)

encoded = {"x": alt.X("m:Q", title="neurons m"), "y": "success:Q", "color": "d:O"}
chart = alt.layer(
    alt.Chart(alt.Data(values=rows)).mark_line().encode(**encoded),
    alt.Chart(alt.Data(values=best)).mark_point(size=80, filled=True).encode(**encoded),
)
