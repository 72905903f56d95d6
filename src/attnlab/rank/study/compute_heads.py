"""A small training whose loss is reported while it runs, and its heads read at the end."""

from __future__ import annotations

import math

import numpy as np

from attnlab.lab.watch import watched
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.problem import SelfNeighbours
from attnlab.rank.study.draws import in_single_precision, key_of
from attnlab.rank.study.questions_heads import HeadTraining, HeadTrainingRow
from attnlab.rank.training.encoders import train_encoders
from attnlab.rank.training.forms import forms_of

CHUNK = 20  # steps between two reports
HIDDEN = 32  # width of the perceptron


@in_single_precision
def training_rows(config: HeadTraining) -> list[HeadTrainingRow]:
    """The loss after every chunk, the held-out error, and the entries of every K Q^T."""
    found = train_encoders(
        SelfNeighbours(config.d, config.N, config.target),
        EncoderShape(config.d, config.rank, config.layers, config.groups, HIDDEN),
        key_of(config),
        steps=config.steps,
        batch=config.batch,
        rate=config.rate,
        seeds=1,
        chunk=CHUNK,
        **watched(),
    )
    trained = found.trained
    rows = [
        HeadTrainingRow("loss", int(end), _finite(loss))
        for end, loss in zip(trained.ends, trained.losses[:, 0], strict=True)
    ]
    last = int(trained.ends[-1])
    rows.append(HeadTrainingRow("held-out", last, _finite(found.errors[0].value)))
    forms = forms_of(found.models.blocks[0].attention, config.d)
    for (head, i, j), entry in np.ndenumerate(np.asarray(forms.matrices[0])):
        angle = _finite(np.asarray(forms.angles)[0, head])
        rows.append(
            HeadTrainingRow("form", last, None, head + 1, i + 1, j + 1, _finite(entry), angle)
        )
    return rows


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
