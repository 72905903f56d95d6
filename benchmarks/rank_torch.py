"""PyTorch's side of benchmarks/rank.py: the same encoder and step, written for eager PyTorch.

    python benchmarks/rank_torch.py H r width_multiplier kind fused

reads a number of steps per line from its standard input and answers with the seconds of each, wall
and processor. It imports neither JAX nor attnlab, so that it runs in an environment of its own.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

D, POINTS, BATCH, MLP = 64, 16, 256, 2048


class Block(nn.Module):
    """One post-norm block: a fused projection for all heads, then the perceptron."""

    def __init__(self, heads: int, rank: int, groups: int, kind: str) -> None:
        super().__init__()
        self.heads, self.rank, self.groups, self.kind = heads, rank, groups, kind
        self.inward = nn.Linear(D, 3 * heads * rank)
        self.outward = nn.Linear(heads * rank, D)
        self.up, self.down = nn.Linear(D, MLP), nn.Linear(MLP, D)
        self.gains = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, n, _ = x.shape
        parts = self.inward(x).view(batch, n, 3, self.heads, self.rank).permute(2, 0, 3, 1, 4)
        mixed = self.attend(*parts.unbind(0)).transpose(1, 2).reshape(batch, n, -1)
        x = F.normalize(x + self.outward(mixed) / self.groups, dim=-1) * self.gains[0]
        return F.normalize(x + self.down(torch.relu(self.up(x))), dim=-1) * self.gains[1]

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        if self.kind == "sdpa":
            return F.scaled_dot_product_attention(q, k, v)
        shape = q.shape
        q, k, v = (array.reshape(-1, *shape[2:]) for array in (q, k, v))
        scores = torch.baddbmm(
            q.new_zeros(1, 1, 1), q, k.transpose(1, 2), beta=0, alpha=self.rank**-0.5
        )
        return torch.bmm(torch.softmax(scores, -1), v).view(shape)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    x = F.normalize(torch.randn(BATCH, POINTS, D), dim=-1)
    farthest = (x @ x.transpose(1, 2)).argmin(-1)
    return x, torch.gather(x, 1, farthest[..., None].expand_as(x))


def main() -> None:
    heads, rank, groups = map(int, sys.argv[1:4])
    model = Block(heads, rank, groups, sys.argv[4])
    optimiser = torch.optim.AdamW(
        model.parameters(), 1e-4, (0.9, 0.95), weight_decay=0, fused=sys.argv[5] == "fused"
    )
    x, target = batch()
    for line in sys.stdin:
        for _ in range(int(line)):
            start = time.perf_counter(), time.process_time()
            optimiser.zero_grad()
            ((model(x) - target) ** 2).sum(-1).mean().backward()
            optimiser.step()
            spent = time.perf_counter() - start[0], time.process_time() - start[1]
            print(*spent, flush=True)


if __name__ == "__main__":
    main()
