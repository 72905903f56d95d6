"""A law beside its simulation

How often does softmax attention separate the two datasets of Deng, Song and Zhou while linear
attention does not? The exact law and the Monte Carlo take the same problem and the same network.
"""

import altair as alt

from attnlab import separation, stats

network = separation.AttentionNetwork(width=15)
rows = []
for d in (4, 6, 10, 18, 34, 66):
    pair = separation.SelfAttentionPair(n=256, d=d)
    exact = separation.success(pair, network)
    sampled = separation.simulate(pair, network, trials=1000, seed=0)
    assert stats.agree(sampled, exact, comparisons=6).agrees
    error = 2 * sampled.standard_error
    rows.append({"d": d, "exact": exact.value, "sampled": sampled.value,
                 "low": sampled.value - error, "high": sampled.value + error})  # fmt: skip

base = alt.Chart(alt.Data(values=rows)).encode(
    x=alt.X("d:Q", scale=alt.Scale(type="log", nice=False))
)
chart = alt.layer(
    base.mark_line().encode(y=alt.Y("exact:Q", title="success")),
    base.mark_rule().encode(y="low:Q", y2="high:Q"),
    base.mark_point().encode(y="sampled:Q"),
)
