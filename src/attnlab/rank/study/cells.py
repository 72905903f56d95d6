"""The cells that need JAX: trained encoders and layers, constructions, the bound's adversary.

Their questions are described in `questions_encoder`, `questions_pair`, `questions_built` and
`questions_adversary`. They are answered in the modules `compute_*`, which are imported when a cell
runs. Closed forms are in `cells_bounds` and `cells_theory`.
"""

from __future__ import annotations

from attnlab.lab.cell import CellKind, Outcome
from attnlab.rank.study.encoder_memory import needs_of_encoders
from attnlab.rank.study.questions_adversary import Adversary, AdversaryResult
from attnlab.rank.study.questions_built import Built, BuiltResult
from attnlab.rank.study.questions_encoder import EncoderRun, EncoderVariant
from attnlab.rank.study.questions_pair import PairRun
from attnlab.rank.study.trained_rows import TrainedRow


def run_encoder(config: EncoderRun) -> Outcome[TrainedRow]:
    from attnlab.rank.study.compute_trained import encoder_rows

    return Outcome(encoder_rows(config))


def run_pair(config: PairRun) -> Outcome[TrainedRow]:
    from attnlab.rank.study.compute_trained import pair_rows

    return Outcome(pair_rows(config))


def run_built(config: Built) -> BuiltResult:
    from attnlab.rank.study.compute_built import built_result

    return built_result(config)


def run_adversary(config: Adversary) -> AdversaryResult:
    from attnlab.rank.study.compute_adversary import adversary_result

    return adversary_result(config)


encoder = CellKind(
    "rank_encoder",
    EncoderRun,
    TrainedRow,
    run_encoder,
    version=4,
    device="gpu",
    needs=needs_of_encoders,
)
variant = CellKind(
    "rank_encoder_variant",
    EncoderVariant,
    TrainedRow,
    run_encoder,
    device="gpu",
    needs=needs_of_encoders,
)
pair = CellKind("rank_pair", PairRun, TrainedRow, run_pair, version=4, device="gpu")
built = CellKind("rank_built", Built, BuiltResult, run_built, version=2)
adversary = CellKind("rank_adversary", Adversary, AdversaryResult, run_adversary, version=2)
