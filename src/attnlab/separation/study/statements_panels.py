"""The panels of Figures 3 to 5 as statements, with the claims that judge them.

Source: Deng, Song, Zhou (arXiv 2310.11685), Section 7.
"""

from attnlab.lab.study import Statement
from attnlab.separation.study.panels import MODELS, PANELS, section, swept_in

_SHOWN = {
    "3a": "n from 100 to 2000 in steps of 10, m = log n, 1000 trials per point",
    "3b": "n = 1000, m from 1 to 100, 1000 trials per point",
    "a": "n from 200 to 1000 in steps of 10, d = 12",
    "b": "d = 4, 6, 10, 18, 34, 66 at n = 256",
    "c": "m from 1 to 80 at n = 200, d = 22",
    "d": "a1 from 0.1 to 3 in steps of 0.036 at n = 200, d = 22",
    "e": "a0 from 0.01 to 0.8 in steps of 0.01 at n = 200, d = 22",
    "f": "c from 0.5 to 0.9 in steps of 0.005 at n = 200, d = 22, b kept at 0.2",
}
_BESIDE = {
    "3a": ("simulation-follows-law",),
    "4a": ("simulation-follows-law", "signs-shared", "float64-decides"),
    "4c": ("wider-hurts",),
    "4d": ("success-cap",),
    "4e": ("spike-rows-shared", "spike-break"),
    "5c": ("wider-hurts",),
    "5d": ("success-cap",),
    "5e": ("spike-break",),
}


def _panel(panel: str) -> Statement:
    """A panel: the text gives its grid, and says of all panels that they show robustness."""
    number, letter = panel
    shown = _SHOWN.get(panel) or f"{_SHOWN[letter]}, 100 trials per point"
    return Statement(
        f"figure-{panel}",
        f"Section {section(panel)}, Figure {number}({letter})",
        "figure",
        f"{MODELS[number]}: E_success, counted for {shown}, shows that the theoretical results "
        f"are robust, here in {swept_in(panel)}.",
        claims=(f"figure-{panel}",),
        beside=(f"figure-{panel}-trend", *_BESIDE.get(panel, ())),
    )


PANEL_STATEMENTS = tuple(_panel(panel) for panel in PANELS)
