"""Who is good at which noise

The loss of three predictors at each level of the noise: least squares ignores it, the adaptive
ridge estimates it from the prompt, and Bayes knows its law.
"""

import altair as alt

from attnlab import linear

problem = linear.NoisyRegression(d=4, n=10, noise=linear.Uniform(5))
predictors = {"OLS": linear.OLS(), "adaptive ridge": linear.AdaRidge(),
              "Bayes": linear.Bayes(problem.noise)}  # fmt: skip
levels = [0.5, 1, 2, 3, 4, 5]
rows = [
    {"noise": sigma, "loss": loss.value, "predictor": name}
    for name, predictor in predictors.items()
    for sigma, loss in zip(
        levels, linear.loss_profile(predictor, problem, levels, samples=2000), strict=True
    )
]

chart = (
    alt.Chart(alt.Data(values=rows))
    .mark_line(point=True)
    .encode(
        x=alt.X("noise:Q", title="standard deviation of the noise"),
        y=alt.Y("loss:Q", scale=alt.Scale(type="log", nice=False)),
        color="predictor:N",
    )
)
