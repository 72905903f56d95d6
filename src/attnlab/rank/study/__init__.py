"""Study `rank`: the rank of attention heads against their number.

Source: Amsel, Yehudai, Bruna, "On the Benefits of Rank in Attention Layers" (arXiv 2407.16153). The
mathematics is in the other folders of `attnlab.rank`; this one says what to compute, what to draw
and what to check.
"""

from pathlib import Path

import attnlab.rank.study.explorers as explorers
import attnlab.rank.study.introduction as introduction
from attnlab.lab.study import Study
from attnlab.rank.study import (
    cells_bounds,
    cells_covering,
    cells_heads,
    cells_identities,
    cells_printed,
    cells_sampled,
    cells_theory,
    claims_ablations,
    claims_bounds,
    claims_conjecture_8,
    claims_constructions,
    claims_depth,
    claims_figure_1,
    claims_five_layers,
    claims_hardened,
    claims_identities,
    claims_length,
    claims_memory,
    claims_rates,
    claims_sizes,
    claims_stream,
    claims_theorem_2,
    claims_theorem_4,
    claims_tightness,
    claims_training,
    claims_votes,
)
from attnlab.rank.study.cells import adversary, built, encoder, hardened, pair, variant
from attnlab.rank.study.figures import FIGURES
from attnlab.rank.study.grids import cells
from attnlab.rank.study.statements import STATEMENTS

study = Study(
    name="rank",
    article=introduction.ARTICLE,
    explorers=explorers.EXPLORERS,
    title="Rank against number of heads",
    source="Amsel, Yehudai, Bruna, “On the Benefits of Rank in Attention Layers”, 2024, "
    "arXiv:2407.16153",
    summary="One attention head of full rank finds the nearest of any number of points; many heads "
    "of low rank do not. The paper proves this with constants left open and trains encoders on it. "
    "Here a bound without constants stands beside exact constructions and trained layers, and the "
    "encoders are trained on prompts that never repeat and evaluated on held-out sequences.",
    kinds=(
        encoder,
        variant,
        hardened,
        pair,
        built,
        cells_bounds.bounds,
        cells_bounds.rank_one,
        cells_theory.decay,
        adversary,
        cells_theory.sizes,
        cells_theory.architectures,
        cells_theory.library_rules,
        cells_theory.majority_codes,
        *cells_printed.KINDS,
        *cells_sampled.KINDS,
        cells_identities.identities,
        cells_identities.feed_forward_scores,
        *cells_covering.KINDS,
        cells_heads.heads,
        cells_heads.head_training,
    ),
    cells=cells,
    figures=FIGURES,
    claims=(
        *claims_identities.CLAIMS,
        *claims_sizes.CLAIMS,
        *claims_constructions.CLAIMS,
        *claims_votes.CLAIMS,
        *claims_theorem_2.CLAIMS,
        *claims_tightness.CLAIMS,
        *claims_bounds.CLAIMS,
        *claims_theorem_4.CLAIMS,
        *claims_conjecture_8.CLAIMS,
        *claims_figure_1.CLAIMS,
        *claims_depth.CLAIMS,
        *claims_rates.CLAIMS,
        *claims_hardened.CLAIMS,
        *claims_training.CLAIMS,
        *claims_length.CLAIMS,
        *claims_ablations.CLAIMS,
        *claims_stream.CLAIMS,
        *claims_memory.CLAIMS,
        *claims_five_layers.CLAIMS,
    ),
    statements=STATEMENTS,
    evidence=Path(__file__).parents[1] / "evidence",
)
