import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.rank_gradient import batch_loss_and_gradient

from attnlab.errors import UserError
from attnlab.rank.models.attention import from_matrices
from attnlab.rank.models.encoder import batch_loss
from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.encoder_start import start_at
from tests.rank.models import numpy_encoder as oracle
from tests.rank.models.numpy_encoder import difference, generator, matrices, perturbed, points
from tests.rank.quickly import filter_quickly

pytestmark = pytest.mark.usefixtures("double_precision")


SHAPE = EncoderShape(d=6, rank=2, layers=2, width_multiplier=2, mlp=7, length=5)

run = filter_quickly(lambda model, X: model.encode(X))
loss_and_gradient = filter_quickly(batch_loss_and_gradient)


def batch(seed, size=4):
    X = jnp.stack([points(seed + i) for i in range(size)])
    return X, jnp.roll(X, 1, axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "rms", "self_mask": True, "layers": 1},
        {"norm": "none", "mlp": 0, "layers": 1},
        {"mlp": 0, "bias": False, "layers": 1},
        {"encoding": "additive", "layers": 1},
        {"encoding": "concatenated", "layers": 1},
        {"encoding": "concatenated", "encoding_dims": 2, "layers": 1, "bias": False},
        {"encoding": "padded", "layers": 1, "rank": 6, "products": "dot"},
    ],
    ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items()) or "default",
)
def test_the_encoder_is_its_definition(seed, options):
    model = perturbed(dataclasses.replace(SHAPE, **options), seed)
    X = points(seed)
    assert difference(run(model, X), oracle.encoder(model, X)) < 1e-10


def test_a_batch_is_the_encoder_on_every_sequence(seed):
    model, (X, T) = perturbed(SHAPE, seed), batch(seed)
    alone = np.stack([run(model, x) for x in X])

    @filter_quickly
    def together(model, X, T):
        return model.encode_batch(X), jax.vmap(model.encode)(X), batch_loss(model, X, T)

    batched, mapped, loss = together(model, X, T)
    assert difference(batched, alone) < 1e-12
    assert difference(mapped, alone) < 1e-12
    assert abs(float(loss) - np.mean(np.sum((alone - np.asarray(T)) ** 2, axis=2))) < 1e-12


def test_the_gradient_in_chunks_is_that_of_the_batch_and_of_finite_differences(seed):
    model, (X, T) = perturbed(SHAPE, seed), batch(seed)
    loss, gradient = loss_and_gradient(model, X, T)
    chunked = loss_and_gradient(model, X, T, 2)
    for left, right in zip(*map(jax.tree.leaves, ((loss, gradient), chunked)), strict=True):
        assert difference(left, right) < 1e-12
    # So short a step that no ReLU of these 280 changes side; rounding leaves about 1e-8.
    step = 1e-7
    for where in (
        lambda m: m.blocks[0].attention.Q,
        lambda m: m.blocks[1].attention.O,
        lambda m: m.blocks[0].attention.query_bias,
    ):
        at = (0,) * where(model).ndim
        losses = [
            loss_and_gradient(eqx.tree_at(where, model, where(model).at[at].add(move)), X, T)[0]
            for move in (step, -step)
        ]
        slope = float(losses[0] - losses[1]) / (2 * step)
        assert abs(slope - float(where(gradient)[at])) < 1e-6


def test_without_encodings_a_permutation_of_the_points_permutes_the_output(seed):
    X = points(seed)
    order = generator(seed).permutation(5)
    order = order if (order != np.arange(5)).any() else order[::-1]
    model = perturbed(SHAPE, seed)
    assert difference(run(model, X[order]), run(model, X)[order]) < 1e-12
    placed = perturbed(dataclasses.replace(SHAPE, encoding="additive"), seed)
    assert difference(run(placed, X[order]), run(placed, X)[order]) > 1e-6


def test_groups_are_averaged(seed):
    attention = perturbed(SHAPE, seed).blocks[0].attention
    assert attention.heads == 6
    assert attention.groups == 2
    arrays = ("Q", "K", "V", "O", "query_bias", "key_bias", "value_bias")

    def group(part):
        chosen = eqx.tree_at(
            lambda a: [getattr(a, name) for name in arrays],
            attention,
            [getattr(attention, name)[part] for name in arrays],
        )
        return dataclasses.replace(chosen, groups=1)

    X = points(seed)
    attend = filter_quickly(lambda layer, X: layer.attend(X))
    mean = (attend(group(slice(3)), X) + attend(group(slice(3, 6)), X)) / 2
    assert difference(attend(attention, X), mean) < 1e-12


def test_a_population_is_separate_models(seed):
    X, T = batch(seed)
    members = [perturbed(SHAPE, seed + i) for i in range(3)]
    population = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    together = eqx.filter_vmap(batch_loss_and_gradient, in_axes=(eqx.if_array(0), None, None))
    losses, gradients = filter_quickly(together)(population, X, T)
    for i, member in enumerate(members):
        loss, gradient = loss_and_gradient(member, X, T)
        assert difference(losses[i], loss) < 1e-12
        for left, right in zip(*map(jax.tree.leaves, (gradients, gradient)), strict=True):
            assert difference(left[i], right) < 1e-12


def test_float32_agrees_to_its_precision_and_bfloat16_to_its_own(seed):
    model, X = perturbed(SHAPE, seed), points(seed)
    exact = run(model, X)
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), model)
    out = run(single, X.astype(jnp.float32))
    assert out.dtype == jnp.float32
    # About a hundred additions lead to an output, each good to half a unit of its precision.
    size = 100 * float(jnp.abs(exact).max())
    assert difference(out, exact) < size * 2.0**-24
    rough = run(perturbed(dataclasses.replace(SHAPE, matmul="bfloat16"), seed), X)
    assert 2.0**-24 < difference(rough, exact) < size * 2.0**-9


def test_torch_encoder_layer_with_the_same_weights_agrees(seed):
    torch = pytest.importorskip("torch")
    shape = EncoderShape(d=6, rank=2, mlp=7, norm="rms")
    model = perturbed(shape, seed)
    block = model.blocks[0]
    layer = torch.nn.TransformerEncoderLayer(6, 3, 7, 0.0, batch_first=True, dtype=torch.float64)
    layer.norm1, layer.norm2 = (torch.nn.RMSNorm(6, dtype=torch.float64) for _ in range(2))
    a, mlp = block.attention, block.mlp
    weights = {
        "self_attn.in_proj_weight": jnp.concatenate([w.reshape(6, 6) for w in (a.Q, a.K, a.V)]),
        "self_attn.in_proj_bias": jnp.concatenate(
            [b.reshape(-1) for b in (a.query_bias, a.key_bias, a.value_bias)]
        ),
        "self_attn.out_proj.weight": a.O.reshape(6, 6).T,
        "self_attn.out_proj.bias": a.output_bias,
        "linear1.weight": mlp.up,
        "linear1.bias": mlp.up_bias,
        "linear2.weight": mlp.down,
        "linear2.bias": mlp.down_bias,
        "norm1.weight": block.attention_norm.gain,
        "norm2.weight": block.mlp_norm.gain,
    }
    layer.load_state_dict({name: torch.tensor(np.asarray(w)) for name, w in weights.items()})
    X = points(seed)
    expected = layer(torch.tensor(np.asarray(X))[None])[0].detach().numpy()
    assert difference(run(model, X), expected) < 1e-10


def test_the_initial_weights_are_spread_as_the_defaults_say(seed):
    shape = EncoderShape(d=32, rank=4, width_multiplier=2, mlp=64)
    draw = filter_quickly(lambda key: initialise(shape, key, jnp.float64))
    model = draw(jax.random.key(seed))
    block = model.blocks[0]
    bounds = {
        (6 / (4 * 32)) ** 0.5: (block.attention.Q, block.attention.K, block.attention.V),
        32**-0.5: (block.attention.O, block.mlp.up, block.mlp.up_bias),
        64**-0.5: (block.mlp.down, block.mlp.down_bias),
    }
    for bound, arrays in bounds.items():
        for array in arrays:
            u = np.asarray(array).reshape(-1) / bound
            assert np.abs(u).max() <= 1
            # Mean of u^2 is 1/3 with variance 4/45 per sample; 8 arrays and 100 seeds at z = 5.
            assert abs(np.mean(u**2) - 1 / 3) < 5 * (4 / 45 / len(u)) ** 0.5
            assert abs(np.mean(u)) < 5 * (1 / 3 / len(u)) ** 0.5
    assert not any(jnp.any(b) for b in (block.attention.query_bias, block.attention.output_bias))
    assert float(block.mlp_norm.gain[0]) == 1


def test_an_encoder_can_start_at_a_construction(seed):
    shape = EncoderShape(d=6, rank=3, width_multiplier=2, mlp=7, norm="none")
    layer = from_matrices(*matrices(seed), scale=0.7)
    started = start_at(perturbed(shape, seed), [layer])
    X = points(seed)
    assert difference(run(started, X), X + oracle.attention(layer, X)) < 1e-10
    assert (
        difference(run(start_at(perturbed(shape, seed), [layer], False), X), run(started, X)) > 1e-3
    )
    _, gradient = loss_and_gradient(started, X[None], jnp.roll(X, 1, 0)[None])
    assert float(jnp.abs(gradient.blocks[0].attention.O[3:]).max()) > 0, "spare heads must learn"
    with pytest.raises(UserError, match=r"^layers must be one for each of the 1 blocks, got 2"):
        start_at(started, [layer, layer])
    with pytest.raises(UserError, match=r"^layers must have heads of at most 4, got 5"):
        start_at(started, [from_matrices(*matrices(seed, heads=5))])
    with pytest.raises(UserError, match=r"^layers must have rank of at most 3, got 4"):
        start_at(started, [from_matrices(*matrices(seed, r=4))])
    with pytest.raises(UserError, match=r"^layers must have self_mask False as the encoder has"):
        start_at(started, [from_matrices(*matrices(seed), self_mask=True)])


def test_sizes_of_the_paper():
    for rank, multiplier, heads in ((64, 1, 1), (8, 1, 8), (8, 64, 512), (1, 64, 4096)):
        assert EncoderShape(rank=rank, width_multiplier=multiplier).heads == heads
    doubled = EncoderShape(rank=8, encoding="concatenated", length=16)
    assert (doubled.width, doubled.heads) == (128, 16)
    assert EncoderShape(rank=8, encoding="padded").width == 128


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^rank must be at most the width, 6, got 8"):
        EncoderShape(d=6, rank=8)
    with pytest.raises(UserError, match=r"^rank must divide the width, 6, got 4"):
        EncoderShape(d=6, rank=4)
    with pytest.raises(
        UserError, match=r"^width_multiplier must be an integer of at least 1, got 0"
    ):
        EncoderShape(width_multiplier=0)
    with pytest.raises(UserError, match=r"^length must be an integer of at least 2 for encodings"):
        EncoderShape(encoding="additive")
    with pytest.raises(
        UserError, match=r"^norm must be one of 'scalar', 'rms', 'none', got 'layer'"
    ):
        EncoderShape(norm="layer")
    model = perturbed(dataclasses.replace(SHAPE, encoding="additive"), 0)
    X = points(0)
    with pytest.raises(UserError, match=r"^X must have points of dimension 6, got 4"):
        model.encode(X[:, :4])
    with pytest.raises(UserError, match=r"^X must hold at least 2 points, got 1"):
        model.encode(X[:1])
    with pytest.raises(UserError, match=r"^X must hold length = 5 points, got 4"):
        model.encode(X[:4])


@pytest.mark.parametrize("encoding", ["additive", "concatenated"])
def test_the_published_start_copies_one_layer_and_shifts_the_positions(encoding, seed):
    shape = EncoderShape(
        d=6, rank=2, layers=2, mlp=7, length=40, encoding=encoding, published_start=True
    )
    model = initialise(shape, jax.random.key(seed), jnp.float64)
    first, second = (jax.tree.leaves(block) for block in model.blocks)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    positions = np.asarray(model.positions)
    if encoding == "concatenated":
        assert np.abs(positions).max() <= 1
    else:
        # The mean of 240 normal numbers around -1 is within 6 / sqrt(240) of it.
        assert abs(positions.mean() + 1) < 6 / np.sqrt(positions.size)
    other = initialise(
        dataclasses.replace(shape, published_start=False), jax.random.key(seed), jnp.float64
    )
    first, second = (jax.tree.leaves(block) for block in other.blocks)
    assert not all((a == b).all() for a, b in zip(first, second, strict=True))
