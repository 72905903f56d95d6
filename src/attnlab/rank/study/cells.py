"""The cells that need JAX: trained encoders and layers, constructions, the bound's adversary.

Their questions are described in `questions_encoder`, `questions_hardened`, `questions_pair`,
`questions_built` and `questions_adversary`. They are answered in the modules `compute_*`, which are
imported when a cell runs. Closed forms are in `cells_bounds` and `cells_theory`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.rank.study.encoder_memory import needs_of_encoders
from attnlab.rank.study.questions_adversary import Adversary, AdversaryResult
from attnlab.rank.study.questions_built import Built, BuiltResult
from attnlab.rank.study.questions_encoder import EncoderRun, EncoderVariant
from attnlab.rank.study.questions_hardened import HardenedRow, HardenedRun
from attnlab.rank.study.questions_pair import PairRun
from attnlab.rank.study.trained_rows import TrainedRow


def run_encoder(config: EncoderRun) -> Outcome[TrainedRow]:
    from attnlab.rank.study.compute_trained import encoder_rows

    return Outcome(encoder_rows(config))


def run_hardened(config: HardenedRun) -> Outcome[HardenedRow]:
    from attnlab.rank.study.compute_hardened import hardened_rows

    return Outcome(hardened_rows(config))


def run_pair(config: PairRun) -> Outcome[TrainedRow]:
    from attnlab.rank.study.compute_trained import pair_rows

    return Outcome(pair_rows(config))


def run_built(config: Built) -> BuiltResult:
    from attnlab.rank.study.compute_built import built_result

    return built_result(config)


def run_adversary(config: Adversary) -> AdversaryResult:
    from attnlab.rank.study.compute_adversary import adversary_result

    return adversary_result(config)


def first_steps(config: Any) -> Any:
    """The same training for ten steps of one seed, with small batches."""
    return replace(config, steps=min(config.steps, 10), batch=min(config.batch, 64), seeds=1)


def adversary_steps(config: Adversary) -> Adversary:
    """The same training for ten steps."""
    return replace(config, steps=min(config.steps, 10))


# Ten steps in float32 agree to 4e-7 between two ways of compiling for a processor; bfloat16 has
# three digits, and a device may round a product to the next one.
TRAINED = Tolerance(1e-2, 1e-6)
# A tie that float32 cannot order moves one prompt of a few thousand.
SINGLE_PRECISION = Tolerance(1e-3, 1e-7)

encoder = CellKind(
    "rank_encoder",
    EncoderRun,
    TrainedRow,
    run_encoder,
    version=4,
    device="gpu",
    needs=needs_of_encoders,
    tolerance=TRAINED,
    shortened=first_steps,
)
variant = CellKind(
    "rank_encoder_variant",
    EncoderVariant,
    TrainedRow,
    run_encoder,
    device="gpu",
    needs=needs_of_encoders,
    tolerance=TRAINED,
    shortened=first_steps,
)
hardened = CellKind(
    "rank_hardened",
    HardenedRun,
    HardenedRow,
    run_hardened,
    device="gpu",
    needs=needs_of_encoders,
    tolerance=TRAINED,
    shortened=first_steps,
)
pair = CellKind(
    "rank_pair",
    PairRun,
    TrainedRow,
    run_pair,
    version=4,
    device="gpu",
    tolerance=TRAINED,
    shortened=first_steps,
)
built = CellKind("rank_built", Built, BuiltResult, run_built, version=2, tolerance=SINGLE_PRECISION)
adversary = CellKind(
    "rank_adversary",
    Adversary,
    AdversaryResult,
    run_adversary,
    version=2,
    tolerance=TRAINED,
    shortened=adversary_steps,
)
