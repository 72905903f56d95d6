"""Invented counts for the panels of Figures 3-5."""


def share(p):
    """Counts with this share of successes."""
    return {
        "successes": lambda config, _: round(p * config.trials),
        "sampled": lambda config, _: p,
    }
