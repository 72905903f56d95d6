"""The checkpoint reader against the models themselves, as the `transformers` library builds them.

    python benchmarks/checkpoints.py [--write docs/checkpoints.md] [NAME ...]

builds every architecture of `checkpoint_models.MODELS` small and with random weights, lowers the
ranks of one head, saves it as that library does, reads the folder without any option, and asks the
model's own forward pass what each head's forms are:

- Q K^T is the mixed derivative of a score with respect to its query token and its key token.
- V O is the derivative of the output with respect to a token, where one head attends to that token
  alone and all other heads to nothing.

Both are taken at offset 0 (rotary embeddings are turned off) and without norms of queries and keys,
as the reader's forms are. Singular values and the angle to the identity have to agree up to a
positive factor (the scale of scores is not part of a form), and the ranks exactly. A model that is
not read is refused with a sentence; one that is read differently is wrong, and the exit code is 1.
`--write` puts the table between the markers of a page.
"""

import argparse
import contextlib
import math
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from checkpoint_models import MODELS, Model
from torch import nn

from attnlab.checkpoints.config import HeadCount
from attnlab.checkpoints.located import locate
from attnlab.checkpoints.names import joined
from attnlab.checkpoints.reading import CheckpointReading, read_checkpoint
from attnlab.errors import UserError

BEGIN, END = "<!-- read by benchmarks/checkpoints.py -->", "<!-- end -->"
NORM = re.compile(r"(^|\.)(q|k|qk|q_a|kv_a|query|key)_(layer)?norm$")
INPUTS = ("q", "k", "v", "qkv", "q_a", "kv_a")
AGREE = 1e-4  # relative; some models compute scores in float32
PLANTED_HEAD, QUERY_KEY_RANK, VALUE_OUTPUT_RANK = 1, 2, 3


@dataclass
class Layer:
    """The modules of one layer that the reader takes for its projections."""

    number: int
    inputs: list[nn.Module]
    output: nn.Module
    projections: list[nn.Module]


class Judge:
    """A model's own forms of one layer: what its forward pass does with tokens of our choice."""

    def __init__(self, model: nn.Module, inputs: dict[str, torch.Tensor], layer: Layer):
        self.model, self.inputs, self.layer = model, inputs, layer
        self.tokens: torch.Tensor | None = None
        self.scores: torch.Tensor | None = None
        self.out: torch.Tensor | None = None
        self.attend_to: int | None = None
        self.active = False

    def query_key(self, head: int) -> np.ndarray:
        """d x d: the form whose value at (query, key) is the score."""
        tokens = self._run()
        (first,) = torch.autograd.grad(self._score(head), tokens, create_graph=True)
        first = first[0, 0]
        rows = [torch.autograd.grad(g, tokens, retain_graph=True)[0][0, 1] for g in first]
        return torch.stack(rows).T.numpy()

    def value_output(self, head: int) -> np.ndarray:
        """d x d: what the token at position 0 adds to the output at position 1, by one head."""
        tokens = self._run(head)
        assert self.out is not None
        rows = [torch.autograd.grad(g, tokens, retain_graph=True)[0][0, 0] for g in self.out[0, 1]]
        return torch.stack(rows).T.numpy()

    def touched(self, head: int) -> tuple[dict[nn.Parameter, torch.Tensor], ...]:
        """Which entries of the projections a head's score depends on, and which its output."""
        weights = [module.weight for module in self.layer.projections]
        self._run()
        score = torch.autograd.grad(self._score(head), weights, allow_unused=True)
        self._run(head)
        assert self.out is not None
        out = torch.autograd.grad(self.out[0, 1].square().sum(), weights, allow_unused=True)
        return tuple(
            {w: g != 0 for w, g in zip(weights, grads, strict=True) if g is not None}
            for grads in (score, out)
        )

    def _score(self, head: int) -> torch.Tensor:
        assert self.scores is not None
        scores = self.scores if self.scores.ndim == 4 else self.scores[None]
        # The score with itself has no mixed derivative; what a model takes off a row cancels.
        return scores[0, head, 1, 0] - scores[0, head, 1, 1]

    def _run(self, attend_to: int | None = None) -> torch.Tensor:
        self.attend_to, self.tokens, self.scores, self.out = attend_to, None, None, None
        with self._hooked(), self._softmax():
            self.model(**self.inputs)
        assert self.tokens is not None
        return self.tokens

    def _softmax_of(self, scores: torch.Tensor) -> torch.Tensor:
        self.scores = scores if self.scores is None else self.scores
        if self.attend_to is None:
            return torch.full_like(scores, 1 / scores.shape[-1])
        found = torch.zeros_like(scores)
        found[..., self.attend_to, :, 0] = 1
        return found

    @contextlib.contextmanager
    def _softmax(self) -> Iterator[None]:
        """Every softmax between the layer's projections is ours."""
        places = [(torch.nn.functional, "softmax"), (torch, "softmax"), (torch.Tensor, "softmax")]
        before = [(place, name, getattr(place, name)) for place, name in places]

        def ours(known: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
            def softmax(scores: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
                if not self.active:
                    return known(scores, *given, **named)
                return self._softmax_of(scores)

            return softmax

        for place, name, known in before:
            setattr(place, name, ours(known))
        try:
            yield
        finally:
            for place, name, known in before:
                setattr(place, name, known)

    @contextlib.contextmanager
    def _hooked(self) -> Iterator[None]:
        def enter(module: nn.Module, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            whole = isinstance(module, nn.MultiheadAttention)  # takes queries, keys, values
            shape = given[1 if whole else 0].shape
            if self.tokens is None:
                # Small tokens: a cap of scores, as Gemma 2 has, is then the identity.
                self.tokens = 1e-3 * torch.randn(shape, dtype=torch.float64)
                if self.attend_to is not None:
                    self.tokens[0, 1] = 0  # a gate of this token is then the same in all columns
                self.tokens.requires_grad_()
                self.active = True
            if whole:
                return (self.tokens, self.tokens, self.tokens, *given[3:])
            return (self.tokens, *given[1:]) if self.tokens.shape == shape else given

        def leave(module: nn.Module, given: Any, out: Any) -> None:
            if self.active:
                self.active, self.out = False, out[0] if isinstance(out, tuple) else out

        hooks = [m.register_forward_pre_hook(enter) for m in self.layer.inputs]
        hooks.append(self.layer.output.register_forward_hook(leave))
        hooks += [
            m.register_forward_pre_hook(_without_rotation, with_kwargs=True)
            for m in self.model.modules()
        ]
        hooks += [
            m.register_forward_hook(_no_angles)
            for m in self.model.modules()
            if type(m).__name__ == "RoFormerSinusoidalPositionalEmbedding"
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _without_rotation(module: nn.Module, given: Any, named: dict[str, Any]) -> Any:
    found = named.get("position_embeddings")
    if isinstance(found, tuple):
        cos, sin = found
        named["position_embeddings"] = (torch.ones_like(cos), torch.zeros_like(sin))
    elif isinstance(found, torch.Tensor):
        named["position_embeddings"] = torch.ones_like(found)
    return given, named


def _no_angles(module: nn.Module, given: Any, sines_and_cosines: torch.Tensor) -> torch.Tensor:
    sines, cosines = sines_and_cosines.chunk(2, dim=-1)
    return torch.cat([torch.zeros_like(sines), torch.ones_like(cosines)], dim=-1)


def forgotten_norms(model: nn.Module) -> None:
    """Norms of queries and keys become identities: the reader's forms are without them."""
    for name, module in list(model.named_modules()):
        for child, _ in list(module.named_children()):
            if NORM.search(f"{name}.{child}"):
                setattr(module, child, nn.Identity())


def layers_of(model: nn.Module, folder: Path) -> list[Layer]:
    """The modules behind the tensors that the reader takes, found by their values."""
    found = locate(folder, None, None)
    owners = {
        parameter.detach().numpy().tobytes(): module
        for module in model.modules()
        for parameter in module.parameters(recurse=False)
    }
    layers = []
    for factors in found.factors(joined(found.stacks), HeadCount("none")):
        modules = {}
        for role, name in factors.layer.names.items():
            block = found.tensors.tensors[name].block()
            modules[role] = owners.get(block.tobytes()) or owners.get(
                np.ascontiguousarray(block.T).tobytes()
            )
        inputs = [modules[role] for role in INPUTS if role in modules]
        whole = isinstance(inputs[0], nn.MultiheadAttention)  # calls no module for its output
        output = inputs[0] if whole else modules["o"]
        layers.append(Layer(factors.layer.number, inputs, output, list(modules.values())))
    return layers


def plant(judge: Judge) -> None:
    """Lower the ranks of one head's projections, in the entries that its own forward depends on."""
    for touched, rank in zip(
        judge.touched(PLANTED_HEAD), (QUERY_KEY_RANK, VALUE_OUTPUT_RANK), strict=True
    ):
        for weight, entries in touched.items():
            rows, columns = entries.any(1), entries.any(0)
            if rows.all() and columns.all():
                continue  # shared by all heads
            block = weight.data[rows][:, columns]
            u, s, v = torch.linalg.svd(block, full_matrices=False)
            lower = (u[:, :rank] * s[:rank]) @ v[:rank]
            grid = torch.meshgrid(rows.nonzero()[:, 0], columns.nonzero()[:, 0], indexing="ij")
            weight.data[grid] = lower


def compare(judge: Judge, reading: CheckpointReading) -> float:
    """The worst relative difference of the layer's forms; infinite where a rank differs."""
    worst = 0.0
    for head in reading.layer(judge.layer.number):
        judged = (judge.query_key(head.head), judge.value_output(head.head))
        for form, A in zip((head.query_key, head.value_output), judged, strict=True):
            norm = np.linalg.norm(A)
            if not norm or not form.norm:
                return math.inf
            sigma = np.linalg.svd(A, compute_uv=False) / norm
            own = np.zeros_like(sigma)
            own[: len(form.singular_values)] = (
                np.array(form.singular_values[: len(own)]) / form.norm
            )
            if form.rank != int((sigma > AGREE * sigma[0]).sum()):
                return math.inf
            cosine = np.trace(A) / norm / math.sqrt(len(A))
            stated = form.multiple * math.sqrt(len(A)) / form.norm
            worst = max(worst, float(np.abs(sigma - own).max()), abs(cosine - stated))
    return worst


@dataclass(frozen=True)
class Result:
    """What became of one architecture: read, refused or wrong, and the evidence."""

    name: str
    verdict: str
    scheme: str
    evidence: str


def tried(name: str, given: Model) -> Result:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = given.build().double().eval()
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
        model.save_pretrained(folder)
        try:
            layers = layers_of(model, folder)
        except UserError as reason:
            said = str(reason).split(": ", 1)[-1].partition("; found are")[0]
            return Result(name, "refused", "", said.partition(";")[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forgotten_norms(model)
            inputs = given.inputs(model)
            judges = [Judge(model, inputs, layer) for layer in layers]
            kept = {n: p.detach().clone() for n, p in model.named_parameters()}
            plant(judges[0])
            _save_planted(given, model, kept, folder)
            reading = read_checkpoint(folder)
            worst = max(compare(judge, reading) for judge in judges)
    ranks = reading.layer(0)[PLANTED_HEAD]
    planted = f"ranks {ranks.query_key.rank} and {ranks.value_output.rank} found"
    if ranks.query_key.rank > QUERY_KEY_RANK or ranks.value_output.rank > VALUE_OUTPUT_RANK:
        worst = math.inf
    verdict = "read" if worst < AGREE else "wrong"
    heads = len(reading.heads)
    told = f"{heads} heads, {planted}, largest difference {worst:.0e}"
    return Result(name, verdict, reading.naming.scheme, told)


def _save_planted(
    given: Model, model: nn.Module, before: dict[str, torch.Tensor], folder: Path
) -> None:
    """Save the planted weights with the library's own names: norms that became identities too."""
    whole = given.build().double()
    own = dict(whole.named_parameters())
    for name, parameter in model.named_parameters():
        own[name].data.copy_(parameter.data)
    whole.save_pretrained(folder)


def table(results: list[Result]) -> str:
    lines = ["| Architecture | | Scheme | Evidence |", "|---|---|---|---|"]
    lines += [f"| {r.name} | {r.verdict} | {r.scheme} | {r.evidence} |" for r in results]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="*", default=())
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    torch.set_default_dtype(torch.float64)  # XGLM's mask is the least float64 in the default dtype
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    results = []
    for name, model in MODELS.items():
        if given.name and name not in given.name:
            continue
        results.append(tried(name, model))
        print("{0.name}: {0.verdict}, {0.scheme}, {0.evidence}".format(results[-1]), flush=True)
    counts = {v: sum(r.verdict == v for r in results) for v in ("read", "refused", "wrong")}
    line = (
        f"{len(results)} architectures of transformers {transformers.__version__}: "
        f"{counts['read']} read, {counts['refused']} refused, {counts['wrong']} wrong."
    )
    print(line)
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        text = f"{before}{BEGIN}\n{line}\n\n{table(results)}\n{END}{after}"
        given.write.write_text(text, encoding="utf-8")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
