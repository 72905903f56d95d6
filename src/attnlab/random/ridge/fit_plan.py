"""What one pass over the prompts must accumulate and where it must stop: the plan of shared fits.

Models that differ in width or intercept are a family with one feature map and one Gram matrix. The
plan also says what a pass will need: memory of m^2 numbers for the fits and not n m (unless m > n,
where n m is the smaller), and a degree for which the sample is large enough. Nothing is drawn
before the memory was found to suffice.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.maths.hermite import scaled_constants
from attnlab.random.models import Model
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel
from attnlab.random.problem import SingleIndexRegression

SCALE = 8192  # prompts that t is the mean of, always as many, so that F depends on no sample size


@dataclass(frozen=True)
class Family:
    """Models that differ only in width and intercept: one feature map, one Gram matrix.

    `primal` and `dual` are the widest fits by normal equations and by the kernel, and `kept` is the
    number of prompts that the latter need.
    """

    map: Model
    members: tuple[tuple[Model, int], ...]
    primal: int
    dual: int
    kept: int

    @property
    def noise(self) -> float:
        """The feature noise that adds noise^2 |w|^2 to a test error."""
        return 0.0 if isinstance(self.map, LinearAttention) else self.map.noise


@dataclass(frozen=True)
class Plan:
    """Families, sample sizes, the widest F, the widest z and the longest block."""

    families: tuple[Family, ...]
    sizes: tuple[int, ...]
    widest: int
    noisy: int
    block: int

    @property
    def largest(self) -> int:
        """The largest system to be solved."""
        return max(max(family.primal, family.kept) for family in self.families)

    def blocks(self) -> list[tuple[int, int]]:
        """Blocks of at most `block` prompts that end wherever normal equations are solved."""
        narrowest = min(m for family in self.families for _, m in family.members)
        stops = [size for size in self.sizes if size >= narrowest or size == self.sizes[-1]]
        return [
            (start + first, start + last)
            for start, stop in itertools.pairwise([0, *stops])
            for first, last in even_blocks(stop - start, self.block)
        ]


def even_blocks(count: int, block: int) -> list[tuple[int, int]]:
    """0..count in as few blocks of at most `block` as can be, all of nearly one length.

    Few different lengths matter to an accelerator, which compiles for each of them.
    """
    pieces = -(-count // block)
    cuts = [count * piece // pieces for piece in range(pieces + 1)]
    return list(itertools.pairwise(cuts))


def plan_fits(
    problem: SingleIndexRegression, models: Sequence[Model], n: Sequence[int], block: int
) -> Plan:
    """Group models into families; m <= n is fitted by normal equations, m > n by the kernel."""
    sizes = tuple(sorted(set(n)))
    grouped: dict[Any, list[tuple[Model, int]]] = {}
    for model in models:
        width = problem.directions if isinstance(model, LinearAttention) else model.width
        grouped.setdefault(_key(model), []).append((model, width))
    families = []
    for members in grouped.values():
        pairs = [(size, width) for size in sizes for _, width in members]
        families.append(
            Family(
                max(members, key=lambda member: member[1])[0],
                tuple(dict.fromkeys(members)),
                max((m for size, m in pairs if m <= size), default=0),
                max((m for size, m in pairs if m > size), default=0),
                max((size for size, m in pairs if m > size), default=0),
            )
        )
    maps = [family.map for family in families if not isinstance(family.map, LinearAttention)]
    noisy = [m.width for m in maps if isinstance(m, EquivalentModel) and m.noise > 0]
    widest = max((m.width for m in maps), default=0)
    return Plan(tuple(families), sizes, widest, max(noisy, default=0), block)


def _key(model: Model) -> Any:
    if isinstance(model, LinearAttention):
        return "linear"
    degree = model.degree if isinstance(model, EquivalentModel) else None
    return model.activation, degree


def require_moments(problem: SingleIndexRegression, plan: Plan) -> None:
    """Refuse a degree at which a few prompts hold the whole Gram matrix, whatever the seed.

    With q_i the second moment of prompt i's features, the effective number of prompts is
    sum(q)^2 / sum(q^2); below one the fit is determined by the prompt of largest norm alone.
    """
    models = [family.map for family in plan.families]
    high = [m for m in models if isinstance(m, EquivalentModel) and m.degree > 1]
    for model in high:
        q = (scaled_constants(model.mean, _relative_norms(problem)) ** 2).sum(0)
        count = plan.sizes[-1] * float(q.sum() ** 2 / (q**2).sum()) / SCALE
        if count < 1:
            raise UserError(
                f"degree must be low enough for the sample: at degree {model.degree} and "
                f"d = {problem.d} the effective number of {plan.sizes[-1]} prompts is {count:.2g}, "
                f"got {model.degree}."
            )


@lru_cache(maxsize=8)
def _relative_norms(problem: SingleIndexRegression) -> Float[np.ndarray, " n"]:
    """|vec H|^2 over its mean, for SCALE prompts."""
    s = problem.all_prompts(SCALE, seed=0, tasks="pool", split="train").square_norms()
    return s / s.mean()


def memory_needed(problem: SingleIndexRegression, plan: Plan, test: int) -> float:
    """Bytes at the worst moment: m^2 for each family, not n m, unless m exceeds n."""
    D, widest, n = problem.directions, plan.widest, plan.sizes[-1]
    rows = min(plan.block, n)
    # F, a block's vec H, U, z and their float64 copy, and the rows of every family.
    total = 4.0 * D * widest + 4.0 * rows * (D + (4 + len(plan.families)) * widest)
    largest = 0
    for family in plan.families:
        total += 8.0 * family.primal**2 + 4.0 * family.kept * family.dual
        largest = max(largest, family.primal, family.kept)
    # A product in float32, the kernel or the centred copy, and the factor.
    total += (4.0 + 8.0 + 8.0) * largest**2
    return total + problem.memory_needed(max(n, SCALE if widest else n) + 2 * test)
