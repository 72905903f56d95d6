"""The ranks of a checkpoint's heads

A file in the names of LLaMA with two layers; the heads of the second have ranks 2, 4, 6 and 8. The
reading finds them, above what rounding to float16 could add.
"""

import altair as alt
import numpy as np
from safetensors.numpy import save_file

from attnlab.checkpoints.reading import read_checkpoint, rows

rng = np.random.default_rng(0)
d, heads, r = 32, 4, 8
tensors = {}
for layer in range(2):
    q, k, v, o = rng.standard_normal((4, heads, d, r)) / np.sqrt(d)
    for head in range(heads if layer else 0):
        low = 2 * (head + 1)
        q[head] = q[head, :, :low] @ rng.standard_normal((low, r))
    for name, part in (("q", q), ("k", k), ("v", v), ("o", o)):
        matrix = part.transpose(0, 2, 1).reshape(heads * r, d)
        path = f"model.layers.{layer}.self_attn.{name}_proj.weight"
        tensors[path] = np.ascontiguousarray(matrix.T if name == "o" else matrix, np.float16)
save_file(tensors, "model.safetensors")

reading = read_checkpoint("model.safetensors", heads=heads)
assert [head.query_key.rank for head in reading.layer(1)] == [2, 4, 6, 8]

chart = (
    alt.Chart(alt.Data(values=rows(reading)), width=400, height=200)
    .mark_rect()
    .encode(x="head:O", y="layer:O", color=alt.Color("query_key_rank:Q", title="rank of Q K^T"))
)
