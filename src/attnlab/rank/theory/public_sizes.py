"""Width, heads and rank of published transformers: most choose H r = d.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Appendix A, and the models' own papers and
settings: BERT (arXiv 1810.04805), T5 (1910.10683), GPT-3 (2005.14165), PaLM (2204.02311), Mistral
(2310.06825).
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Width d, heads H and rank r of a layer.

    `key_value_heads` is the number of key and value heads where groups of heads share them.
    """

    d: int
    heads: int
    rank: int
    key_value_heads: int | None = None

    def __repr__(self) -> str:
        shared = f", {self.key_value_heads}" if self.key_value_heads else ""
        return f"Sizes({self.d}, {self.heads}, {self.rank}{shared})"

    @property
    def share(self) -> float:
        """H r / d, which is 1 where r = d / H."""
        return self.heads * self.rank / self.d

    @property
    def least_angle(self) -> float:
        """The smallest angle to the identity, in degrees, that a form of rank r can have.

        arccos sqrt(r / d): trace(A) <= sum(sigma) <= sqrt(r) ||A||_F, with equality for a multiple
        of a projection onto r dimensions. To -I the largest is 180 degrees less that.
        """
        return math.degrees(math.acos(math.sqrt(min(self.rank / self.d, 1.0))))


PUBLIC_SIZES = {
    "Vaswani et al. 2017": Sizes(512, 8, 64),
    "BERT-large": Sizes(1024, 16, 64),
    "T5-base": Sizes(768, 12, 64),
    "T5-3B": Sizes(1024, 32, 128),
    "T5-11B": Sizes(1024, 128, 128),
    "GPT-3 175B": Sizes(12_288, 96, 128),
    "PaLM-540B": Sizes(18_432, 48, 256),
    "LLaMA-65B": Sizes(8192, 64, 128),
    "GPT-NeoX-20B": Sizes(6144, 64, 96),
    "Mistral-7B": Sizes(4096, 32, 128),
    "Qwen2.5-7B": Sizes(3584, 28, 128),
    "Gemma-3-4B": Sizes(2560, 8, 256),
}
