"""Which ranks the attention layers of PyTorch and xFormers let a user choose.

Source: Amsel, Yehudai, Bruna (arXiv 2407.16153), Section 1, says that H = d/r is fixed in both. The
rules are those of the constructors of `torch.nn.MultiheadAttention` (torch/nn/modules/activation.py
of pytorch at 691d5f4b) and of `xformers.components.MultiHeadDispatch` (xformers/components/
multi_head_dispatch.py of xformers at afbdb209). Neither library is needed here.
"""

from collections.abc import Callable


def pytorch_rank(d: int, heads: int, keys: int | None = None) -> int | None:
    """The rank of a head of `MultiheadAttention(d, heads)`, None where it is refused.

    `head_dim = embed_dim // num_heads`, and `head_dim * num_heads == embed_dim` is asserted. No
    argument sets the rank: `kdim` and `vdim` are widths of inputs, so that `keys`, the width H r of
    all projected keys, cannot be asked for.
    """
    if keys is not None or d % heads:
        return None
    return d // heads


def xformers_rank(d: int, heads: int, keys: int | None = None) -> int | None:
    """The rank of a head of `MultiHeadDispatch(d, heads, dim_key=keys)`, None where it is refused.

    `dim_model % num_heads == 0` is asserted, `dim_key` is `dim_model` unless it is given, and the
    projected keys of width `dim_key` are divided among the heads, which must come out even.
    """
    keys = d if keys is None else keys
    return None if d % heads or keys % heads else keys // heads


RULES: dict[str, Callable[[int, int, int | None], int | None]] = {
    "PyTorch": pytorch_rank,
    "xFormers": xformers_rank,
}
