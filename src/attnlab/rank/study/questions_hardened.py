"""Whether the softmax of a trained encoder acts like a hardmax: the second panel of Figure 2.

The encoder is that of `questions_encoder`, with the same weights for the same fields. In the place
of its softmax it gets a hardmax, and the mean of all points; what is measured is how far its
answers move.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from attnlab.rank.study.questions_encoder import EncoderRun


@dataclass(frozen=True)
class HardenedRun(EncoderRun):
    """A trained encoder, and the same weights with other attention."""

    def trained(self) -> EncoderRun:
        """The training that gives these weights."""
        return EncoderRun(**{item.name: getattr(self, item.name) for item in fields(EncoderRun)})


@dataclass(frozen=True)
class HardenedRow:
    """One seed, on held-out prompts; `moved` and `flat` are squared distances of answers.

    An answer has a length of about 1, so that a distance of 1 is as large as the answer itself.
    Numbers are None where the member diverged.
    """

    member: int
    head_count: int
    median_norm: float | None  # of K Q^T, over the heads of the first layer
    test: float | None  # squared error of the network as it was trained
    hard: float | None  # with a hardmax in the place of every softmax
    moved: float | None  # from the softmax's answers to the hardmax's
    moved_error: float | None  # its standard error
    flat: float | None  # from the softmax's answers to those with equal weights
    status: str
