"""Which cells without encoders the figures and claims need: bounds, constructions, adversaries.

Apart from the adversaries they are the same at every scale. The trained encoders, and the list of
all cells, are in `grids`.
"""

from __future__ import annotations

from itertools import chain

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.rank.study.cells import adversary, built
from attnlab.rank.study.cells_bounds import Bounds, RankOne, bounds, rank_one
from attnlab.rank.study.cells_covering import covering_bound, covering_sample
from attnlab.rank.study.cells_identities import (
    FeedForwardScores,
    Identities,
    feed_forward_scores,
    identities,
)
from attnlab.rank.study.cells_printed import (
    BiasedNeed,
    HighAccuracy,
    HighDimension,
    OneHead,
    PairDistances,
    RandomFeatures,
    biased_need,
    features,
    high_accuracy,
    high_dimension,
    one_head,
    pair_distances,
)
from attnlab.rank.study.cells_sampled import (
    coordinate_heads,
    single_heads,
    softmax,
    theorem_4_heads,
)
from attnlab.rank.study.cells_theory import (
    Architectures,
    DecayCurve,
    LibraryRules,
    MajorityCodes,
    PublicSizes,
    architectures,
    decay,
    library_rules,
    majority_codes,
    sizes,
)
from attnlab.rank.study.questions_adversary import Adversary
from attnlab.rank.study.questions_built import Built, Construction
from attnlab.rank.study.questions_covering import CoveringBound, CoveringSample
from attnlab.rank.study.questions_sampled import (
    CoordinateHeads,
    SingleHeads,
    SoftmaxCurve,
    TheoremFourHeads,
)

SCALES_C = (1.0, 4.0, 16.0, 64.0, 256.0)


def full_rank(seed: int) -> list[Cell]:
    """Fact 1: an orthonormal pair at c = 64, and hardmax over 64 independent points."""
    return [
        built(Built("full rank", 16, 2, True, 64.0, seed=seed), cost=1.2),
        built(Built("full rank", 16, 64, seed=seed), cost=1.2),
    ]


SOFTMAX_LENGTHS = (2, 8, 64)


def softmax_curves(seed: int) -> list[Cell]:
    """Fact 1 with a softmax: independent points, several N and c."""
    return [
        softmax(SoftmaxCurve("independent", 16, N, 20_000 if N < 64 else 4000, seed), cost=0.4)
        for N in SOFTMAX_LENGTHS
    ]


def biased_softmax_curves(seed: int) -> list[Cell]:
    """Fact 3 with a softmax: independent points with biases, and the law of Theorem 4."""
    return [
        softmax(SoftmaxCurve("biased", 16, 8, seed=seed), cost=0.4),
        softmax(SoftmaxCurve("theorem 4", 64, 2, seed=seed), cost=0.4),
    ]


def biased(construction: Construction, seed: int) -> Cell:
    """Fact 3 at the paper's sizes."""
    return built(Built(construction, 64, 16, seed=seed), cost=1.2)


VOTE_SIZES = ((8, 63), (16, 255))


def votes(seed: int) -> list[Cell]:
    """Theorem 7, sampled."""
    return [
        built(Built("vote", d, heads=H, samples=2000, seed=seed), cost=0.16) for d, H in VOTE_SIZES
    ]


def votes_by_mlp(seed: int) -> list[Cell]:
    """Theorem 34, sampled."""
    return [
        built(Built("vote by MLP", d, heads=H, samples=2000, seed=seed), cost=0.3)
        for d, H in VOTE_SIZES
    ]


VOTE_DS, VOTE_HEADS = (16, 32, 64), (1023, 4095, 16_383)


def vote_laws() -> list[Cell]:
    """The exact error of the vote at several sizes."""
    return [bounds(Bounds(d, 1, H), 0.01) for d in VOTE_DS for H in VOTE_HEADS]


def vote_below_bound() -> Cell:
    """H = 4001 at d = 64, where two layers have an error below the bound on one."""
    return bounds(Bounds(64, 1, 4001), 0.01)


BOUND_RANKS = (1, 2, 8, 32, 63, 64)


def bound_curves(rank: int) -> list[Cell]:
    """The bounds against the number of heads at one rank."""
    return [bounds(Bounds(64, rank, 4**k), 0.01) for k in range(8)]


def ridge_cells(seed: int) -> list[Cell]:
    """Rank-1 heads whose values are also fitted on samples."""
    return [
        rank_one(RankOne(d, H, samples=4000, seed=seed), cost=0.06)
        for d, H in ((8, 16), (8, 64), (16, 32))
    ]


RANDOM_HEADS = (16, 64, 256, 1024)


def random_heads(d: int, seed: int) -> list[Cell]:
    """Random rank-1 heads against their number."""
    return [rank_one(RankOne(d, H, seed=seed), cost=H / 5000) for H in RANDOM_HEADS]


def optimised_cells(seed: int) -> list[Cell]:
    """Rank-1 heads improved by L-BFGS."""
    return [
        rank_one(RankOne(8, H, optimise=200, seed=seed), cost=0.06) for H in (2, 4, 8, 16, 32, 64)
    ]


def decay_cells() -> list[Cell]:
    """Theorem 4 at two dimensions."""
    return [decay(DecayCurve(32), cost=0.16), decay(DecayCurve(64, checked=False), cost=0.16)]


def theorem_2_high_accuracy() -> Cell:
    """Theorem 2 (i)."""
    return high_accuracy(HighAccuracy(), cost=0.8)


def theorem_2_high_dimension(rank_one: bool = False) -> Cell:
    """Theorem 2 (ii), or its form for r = 1."""
    return high_dimension(HighDimension(rank_one))


def one_head_cell() -> Cell:
    """Theorem 2 (ii) as printed, near an error of 1/2."""
    return one_head(OneHead(), cost=0.01)


def coordinate_cell(seed: int) -> Cell:
    """d heads of rank 1 that see one coordinate each."""
    return coordinate_heads(CoordinateHeads(seed=seed), cost=0.08)


def theorem_4(near_full: bool = False) -> Cell:
    """How many heads and how much weight Theorem 4's error needs."""
    return biased_need(BiasedNeed(near_full), cost=0.04)


def theorem_4_layers(seed: int) -> list[Cell]:
    """Heads of rank 1 on the law of Theorem 4, at three sizes."""
    return [
        theorem_4_heads(TheoremFourHeads(d, H, seed=seed), cost=0.2)
        for d, H in ((4, 8), (8, 32), (16, 64))
    ]


def features_cell() -> Cell:
    """How many random features are enough."""
    return features(RandomFeatures(), cost=0.04)


def distance_cell() -> Cell:
    """Orthonormal against independent pairs."""
    return pair_distances(PairDistances(), cost=0.04)


def single_head_cell(seed: int) -> Cell:
    """One voting head, sampled."""
    return single_heads(SingleHeads(seed=seed), cost=0.2)


def identity_cell(seed: int) -> Cell:
    """Sentences that are algebra."""
    return identities(Identities(seed=seed), cost=0.04)


def feed_forward_cell(seed: int) -> Cell:
    """Scores of a feed-forward network."""
    return feed_forward_scores(FeedForwardScores(seed=seed), cost=0.01)


COVERING_NETS = ((2, 256), (3, 8000))
FINER_NETS = ((2, 1024), (3, 16_000))


def covering_samples(seed: int) -> list[Cell]:
    """Conjecture 8: rank-1 heads for the directions of a net, sampled."""
    return [
        covering_sample(CoveringSample(d, directions, seed=seed), cost=0.6 if d == 2 else 1.8)
        for d, directions in COVERING_NETS
    ]


def covering_bounds() -> list[Cell]:
    """The bound on their error for every N, also for finer nets."""
    return [
        covering_bound(CoveringBound(d, directions), cost=0.2)
        for d, directions in sorted((*COVERING_NETS, *FINER_NETS))
    ]


def adversaries(scale: Scale, seed: int) -> list[Cell]:
    """Heads trained against bounds (B) and (C)."""
    sizes = [(4, 1, 4, True), (4, 2, 2, False)]
    steps = 300
    if scale != "quick":
        steps = 2000
        sizes = [
            (d, r, H, s) for d in (4, 5) for r in (1, 2) for H in (1, 2, 4) for s in (False, True)
        ]
    return [
        adversary(Adversary(d, r, H, s, steps=steps, seed=seed), cost=1.6) for d, r, H, s in sizes
    ]


def size_cell() -> Cell:
    """Sizes of published models."""
    return sizes(PublicSizes())


def architecture_cell() -> Cell:
    """Attention layers of the architectures of a library."""
    return architectures(Architectures())


def library_cell() -> Cell:
    """Layers that PyTorch and xFormers accept."""
    return library_rules(LibraryRules())


def codes_cell(seed: int) -> Cell:
    """Labels for the majority among N terms."""
    return majority_codes(MajorityCodes(seed=seed), cost=0.3)


def cells(scale: Scale, seed: int) -> list[Cell]:
    """All of them, the fastest first: a run that is stopped early has those."""
    biases: tuple[Construction, ...] = ("biased", "biased as printed", "concatenated")
    planned = chain(
        [vote_below_bound(), size_cell(), architecture_cell(), library_cell()],
        [features_cell(), distance_cell()],
        [identity_cell(seed), feed_forward_cell(seed), codes_cell(seed)],
        [theorem_2_high_accuracy(), theorem_4(), theorem_4(near_full=True)],
        [theorem_2_high_dimension(), theorem_2_high_dimension(rank_one=True), one_head_cell()],
        [coordinate_cell(seed), single_head_cell(seed)],
        theorem_4_layers(seed),
        covering_bounds(),
        covering_samples(seed),
        vote_laws(),
        *(bound_curves(rank) for rank in BOUND_RANKS),
        ridge_cells(seed),
        *(random_heads(d, seed) for d in (8, 16)),
        optimised_cells(seed),
        decay_cells(),
        full_rank(seed),
        softmax_curves(seed),
        biased_softmax_curves(seed),
        [biased(name, seed) for name in biases],
        votes(seed),
        votes_by_mlp(seed),
        adversaries(scale, seed),
    )
    return list(planned)
