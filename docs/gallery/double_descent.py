"""Double descent of a random transformer

The limit law of Demir and Dogan over the number of features m: without a ridge the error on new
tasks diverges where m is the number of prompts n, and a ridge takes the peak away.
"""

import altair as alt
import numpy as np

from attnlab.random.theory.linear_attention_law import Setting, target_constants
from attnlab.random.theory.transformer_law import RandomFeaturesLaw, feature_constants

setting = Setting(alpha=1.0, kappa=0.5, rho=0.01, target=target_constants("relu"))
relu = feature_constants("relu")
rows = []
for delta in (1e-4, 1e-2, 0.1):
    for psi in np.geomspace(0.05, 20, 60):
        law = RandomFeaturesLaw(setting, relu, tau=1.5, psi=psi, delta=delta)
        rows.append({"m/n": float(psi), "error": law.errors().icl, "ridge": delta})

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_line()
    .encode(
        x=alt.X("m/n:Q", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("error:Q", title="error on new tasks", scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("ridge:O", title="ridge λ/d"),
    )
)
