"""The time of one training step of a FULL linear transformer, measured in one run.

    python benchmarks/linear.py [rounds]

prints (1) the time of loss and gradient for seven layers and 2,048 sequences in plain XLA, in
`attnlab.linear.kernels.gram`, and in eager PyTorch in Gram and in token form, called in turn; the
time against (2) n, (3) d, (4) depth and (5) population; and (6) the peak memory. PyTorch runs in a
process of its own on two threads, in the interpreter that ATTNLAB_TORCH_PYTHON names or in this
one. `rounds` is 15 unless given.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

DEPTH, D, N, BATCH, THREADS = 7, 10, 20, 2048, 2


def tokens_and_weights(d=D, n=N, batch=BATCH, depth=DEPTH):
    """Contexts of the paper's problem, and weights of a size that keeps tokens of order one."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(batch, n, d))
    w = draw.normal(size=(batch, d))
    y = np.einsum("bnd,bd->bn", X, w) + draw.uniform(0, 5, (batch, 1)) * draw.normal(
        size=(batch, n)
    )
    Z = np.concatenate([X, y[..., None]], axis=2)
    P, Q = 0.05 * draw.normal(size=(2, depth, 1, d + 1, d + 1)) / np.sqrt(n)
    return [part.astype(np.float32) for part in (Z, w, P, Q)]


# PyTorch, in its own process


def torch_server(inputs: str) -> None:
    """Answer every line "gram" or "token" with the wall and CPU seconds of one step."""
    import torch

    torch.set_num_threads(THREADS)
    Z, target, P, Q = (torch.from_numpy(part) for part in np.load(inputs).values())
    G, p = Z.mT @ Z, Z.shape[-1]
    P.requires_grad_(), Q.requires_grad_()
    unit = torch.eye(p)[:-1].expand(len(Z), p - 1, p)
    last = torch.eye(p)[-1:].expand(len(Z), 1, p)

    def increment(G, i):
        """sum_k P_k G Q_k by two products of a tall matrix with a small one."""
        S = 0
        for P_k, Q_k in zip(P[i], Q[i], strict=True):
            GQ = (G.reshape(-1, p) @ Q_k).reshape(-1, p, p)
            S = S + (GQ.mT.reshape(-1, p) @ P_k.mT).reshape(-1, p, p).mT
        return S

    def gram():
        moved, increments, row = G, [], last
        for i in range(len(P)):
            S = increment(moved, i)
            increments.append(S)
            if i < len(P) - 1:
                half = torch.baddbmm(moved, S, moved)
                moved = torch.baddbmm(half, half, S.mT)
        for S in reversed(increments):
            row = torch.baddbmm(row, row, S)
        return -row[:, 0, :-1]

    def token():
        context, queries = Z, unit
        for i in range(len(P)):
            S = increment(context.mT @ context, i)
            queries = torch.baddbmm(queries, queries, S.mT)
            if i < len(P) - 1:
                context = torch.baddbmm(context, context, S.mT)
        return -queries[..., -1]

    print(f"PyTorch {torch.__version__}", flush=True)
    for line in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        P.grad = Q.grad = None
        loss = ({"gram": gram, "token": token}[line.strip()]() - target).square().sum() / 2 / len(Z)
        loss.backward()
        spent = time.perf_counter() - wall, time.process_time() - cpu
        print(*spent, loss.item(), P.grad.norm().item(), Q.grad.norm().item(), flush=True)


class Torch:
    """One PyTorch process; `policy` is how its threads wait for work (OMP_WAIT_POLICY)."""

    def __init__(self, inputs: str, policy: str | None) -> None:
        python = os.environ.get("ATTNLAB_TORCH_PYTHON", sys.executable)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if policy:
            environment["OMP_WAIT_POLICY"] = policy
        command = [python, __file__, "--torch", inputs]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)
        self.version = self.process.stdout.readline().strip()

    def step(self, form: str) -> list[float]:
        self.process.stdin.write(form + "\n")
        self.process.stdin.flush()
        return [float(number) for number in self.process.stdout.readline().split()]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


# JAX, here


def jax_steps():
    """The compiled functions step(weights, G, targets), by name."""
    import jax
    import jax.numpy as jnp

    from attnlab.linear.kernels.gram import loss_and_gradient
    from attnlab.linear.models.transformer import final_weights

    def loss(weights, G, targets):
        w = jax.vmap(final_weights, (None, 0))(weights, G)
        return jnp.mean(jnp.sum((w - targets) ** 2, axis=1)) / 2

    return {"plain XLA, vmap": jax.jit(jax.value_and_grad(loss)), "gram kernel": loss_and_gradient}


def arrays(**sizes):
    import jax.numpy as jnp

    from attnlab.linear.models.weights import FullWeights

    Z, target, P, Q = map(jnp.asarray, tokens_and_weights(**sizes))
    return FullWeights(P, Q), jnp.einsum("bni,bnj->bij", Z, Z), target, Z


def timed(step, *arguments) -> tuple[list[float], object]:
    import jax

    wall, cpu = time.perf_counter(), time.process_time()
    found = jax.block_until_ready(step(*arguments))
    return [time.perf_counter() - wall, time.process_time() - cpu], found


def turns(calls: dict, rounds: int) -> dict[str, np.ndarray]:
    """Wall and CPU seconds of every call in every round; the first call is not counted."""
    for call in calls.values():
        call()
    spent = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            spent[name].append(call()[:2])
    return {name: np.array(times) for name, times in spent.items()}


def against_torch(rounds: int) -> None:
    import jax

    weights, G, target, _ = arrays()
    found = {}

    def ours(name, step):
        def call():
            times, (loss, gradient) = timed(step, weights, G, target)
            norms = [float(np.linalg.norm(part)) for part in (gradient.P, gradient.Q)]
            found[name] = [float(loss), *norms]
            return times

        return call

    calls = {name: ours(name, step) for name, step in jax_steps().items()}
    with tempfile.TemporaryDirectory() as folder:
        inputs = str(Path(folder) / "inputs.npz")
        np.savez(inputs, *tokens_and_weights())
        torches = {policy: Torch(inputs, policy) for policy in (None, "PASSIVE")}
        version = torches[None].version
        if not version:
            print("  PyTorch is missing: set ATTNLAB_TORCH_PYTHON to an interpreter that has it")
        for policy, process in torches.items() if version else ():
            for form in ("gram", "token"):
                name = f"PyTorch {form} form" + (", threads sleep" if policy else "")

                def call(process=process, form=form, name=name):
                    *times, loss, dP, dQ = process.step(form)
                    found[name] = [loss, dP, dQ]
                    return times

                calls[name] = call
        print(f"  jax {jax.__version__}, {version or 'no PyTorch'}, {rounds} rounds, median")
        spent = turns(calls, rounds)
        for process in torches.values():
            process.close()
    exact = np.array(found["gram kernel"])
    ours_spent = spent["gram kernel"]
    print(
        "  milliseconds                      wall  fastest      CPU | times gram kernel: wall, CPU"
    )
    for name, times in spent.items():
        wall, cpu = np.median(times, axis=0)
        best = times[:, 0].min()
        ratio = np.median(times / ours_spent, axis=0)
        off = np.abs(np.array(found[name]) / exact - 1).max()
        print(
            f"  {name:<31} {1e3 * wall:7.1f}  {1e3 * best:7.1f}  {1e3 * cpu:7.1f} | "
            f"{ratio[0]:.2f}, {ratio[1]:.2f} (loss and gradient norms within {off:.0e})"
        )
    rivals = [times for name, times in spent.items() if name.startswith("PyTorch")]
    if rivals:
        wall, cpu = (min(np.median(t[:, i]) for t in rivals) for i in (0, 1))
        fastest = min(t[:, 0].min() for t in rivals) / ours_spent[:, 0].min()
        print(
            f"  best of PyTorch over the gram kernel: {wall / np.median(ours_spent[:, 0]):.2f} in "
            f"median wall time, {fastest:.2f} in fastest, {cpu / np.median(ours_spent[:, 1]):.2f} "
            "in CPU time"
        )


def compared(label: str, calls: dict, rounds: int = 5) -> None:
    spent = turns(calls, rounds)
    times_of = [
        f"{name} {1e3 * np.median(times[:, 0]):.1f} ({1e3 * np.median(times[:, 1]):.1f})"
        for name, times in spent.items()
    ]
    print(f"  {label}: " + ", ".join(times_of), flush=True)


def against_sizes() -> None:
    import jax
    import jax.numpy as jnp

    from attnlab.linear.kernels.gram import loss_and_gradient
    from attnlab.linear.models.transformer import token_form

    steps = jax_steps()

    @jax.jit
    @jax.value_and_grad
    def tokens(weights, Z, target):
        unit = jnp.eye(D, dtype=Z.dtype)
        w = jax.vmap(lambda Z: token_form(weights, Z[:, :-1], Z[:, -1], unit).predictions[-1])(Z)
        return jnp.mean(jnp.sum((w - target) ** 2, axis=1)) / 2

    @jax.jit
    def from_tokens(weights, Z, target):
        G = jnp.einsum("bni,bnj->bij", Z, Z, precision="highest")
        return loss_and_gradient(weights, G, target)

    print("2. against n, 512 sequences, G formed from the tokens each time")
    for n in (20, 80, 320):
        weights, _, target, Z = arrays(n=n, batch=512)
        calls = {
            "token form": lambda a=(weights, Z, target): timed(tokens, *a)[0],
            "Gram form": lambda a=(weights, Z, target): timed(from_tokens, *a)[0],
        }
        compared(f"n={n}", calls)
    for title, name, sizes in (
        ("3. against d", "d", (5, 10, 20)),
        ("4. depth", "depth", (1, 3, 7)),
    ):
        print(f"{title}, 512 sequences")
        for size in sizes:
            *arguments, _ = arrays(batch=512, **{name: size})
            calls = {
                each: lambda s=step, a=arguments: timed(s, *a)[0] for each, step in steps.items()
            }
            compared(f"{name}={size}", calls)
    print("5. population on one batch of 512 sequences")
    weights, G, target, _ = arrays(batch=512)
    for size in (1, 8):
        many = jax.tree.map(lambda part, size=size: jnp.stack([part] * size), weights)
        calls = {}
        for each, step in steps.items():
            if step is loss_and_gradient:
                step = partial(step, chunk=256 // size)
            together = jax.jit(jax.vmap(step, (0, None, None)))
            calls[each] = lambda s=together, m=many: timed(s, m, G, target)[0]
        compared(f"{size} members", calls, 3)


def memory() -> None:
    print("6. peak memory of a process that does three steps, MiB")
    for batch in (2048, 8192, 32768):
        peaks = []
        for name in ("nothing", *jax_steps()):
            command = [sys.executable, __file__, "--memory", name, str(batch)]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            peaks.append(f"{name} {float(out.split()[-1]):.0f}")
        print(f"  {batch} sequences: " + ", ".join(peaks), flush=True)


def one_process(name: str, batch: int) -> None:
    steps = jax_steps()
    *arguments, _ = arrays(batch=batch)
    for _ in range(3):
        if name in steps:
            timed(steps[name], *arguments)
    print(peak_memory())


def peak_memory() -> float:
    """The peak memory in MiB, from Linux's own count where there is one.

    `ru_maxrss` of a child process starts at the peak of its parent.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> None:
    if sys.argv[1:2] == ["--torch"]:
        return torch_server(sys.argv[2])
    if sys.argv[1:2] == ["--memory"]:
        return one_process(sys.argv[2], int(sys.argv[3]))
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(
        f"1. loss and gradient, FULL, {DEPTH} layers, one head, d={D}, {BATCH} sequences, float32"
    )
    against_torch(rounds)
    print("Below: wall milliseconds (CPU milliseconds), medians")
    against_sizes()
    memory()


if __name__ == "__main__":
    main()
