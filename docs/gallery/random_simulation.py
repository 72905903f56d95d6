"""A limit law, its refinement, and the model itself

`law` is the limit of many dimensions and prompts, `refined` corrects it for this size, and
`simulate` fits the random transformer of m features itself, here in 16 dimensions.
"""

import altair as alt

from attnlab import random

problem = random.SingleIndexRegression(d=16, length=16, tasks=8, target="relu")
n = random.samples(problem, tau=1.5)
rows, points = [], []
for share in (0.1, 0.2, 0.4, 0.7, 1.4, 2.8):
    model = random.RandomTransformer(width=int(share * n), activation="relu")
    (limit,) = random.law(problem, model, n=n, ridge=0.1)
    (refined,) = random.refined(problem, model, n=n, ridge=0.1, prompts=4000)
    (found,) = random.simulate(problem, model, n=n, ridge=0.1, runs=8, test=200)
    rows += [
        {"m/n": share, "error": limit.icl.value, "law": "limit"},
        {"m/n": share, "error": refined.icl.value, "law": "refined"},
    ]
    low, high = (found.icl.value + side * found.icl.standard_error for side in (-2, 2))
    points.append({"m/n": share, "error": found.icl.value, "low": low, "high": high})

x = alt.X("m/n:Q", scale=alt.Scale(type="log", nice=False))
y = alt.Y("error:Q", title="error on new tasks")
simulated = alt.Chart(alt.Data(values=points)).encode(x=x)
chart = alt.layer(
    alt.Chart(alt.Data(values=rows)).mark_line().encode(x=x, y=y, color="law:N"),
    simulated.mark_rule().encode(y="low:Q", y2="high:Q"),
    simulated.mark_point().encode(y=y),
)
