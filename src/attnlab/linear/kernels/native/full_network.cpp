// Loss and gradient of a population of FULL linear transformers on sequences that it draws itself.
//
// The mathematics is that of attnlab.linear.kernels.gram: S = P G Q, T = I + S, G <- T G T^T, and the
// reverse pass with H = dl/dG. All members have the same inputs and differ in the noise level, so
// that a block of sequences is drawn once and stays in the cache for all of them. Only the last row
// of the last layer's T is used, which makes that layer cheap.
//
// The batch is cut into SLOTS parts whose sums are added in order: the result does not depend on the
// number of threads.
#include <algorithm>
#include <vector>

#include "parallel.h"
#include "sequences.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

constexpr int64_t SLOTS = 32;  // parts of a batch, at most
constexpr int64_t TOGETHER = 8;  // blocks of sequences that are drawn before the networks see them

// As in the headers: the libraries of two sizes must not share symbols whose layout depends on SIDE,
// nor the memory of a thread.
namespace {

// Memory of one thread, which it keeps.
struct alignas(64) Layer {
  V G[ENTRIES], GQ[ENTRIES], T[ENTRIES], row[SIDE], column[SIDE];
};

struct alignas(64) Sums {
  V P[ENTRIES], Q[ENTRIES];
};

// One network of `depth` layers: its weights, and loss and gradient of a block of sequences.
struct Network {
  const float *P, *Q;
  int64_t depth;

  // Adds the gradient to `sums` and the loss to `loss`; layers[0].G holds the Gram matrices. The loss
  // is that at a query where there is one, and else its mean over queries.
  void add(const V* target, const V* query, Layer* layers, Sums* sums, V& loss) const {
    const int64_t last = depth - 1;
    for (int64_t l = 0; l < last; ++l) forward(l, layers);

    // The last row of T in the last layer: e + P[-1] G Q.
    const float *P_row = P + ENTRIES * last + SIDE * D, *Q_last = Q + ENTRIES * last;
    const V* G = layers[last].G;
    V PG[SIDE], row[SIDE], column[SIDE];
    for (int j = 0; j < SIDE; ++j) PG[j] = V{};
    for (int i = 0; i < SIDE; ++i)
      for (int j = 0; j < SIDE; ++j) PG[j] += P_row[i] * G[SIDE * i + j];
    for (int j = 0; j < SIDE; ++j) row[j] = broadcast(j == D ? 1.0f : 0.0f);
    for (int i = 0; i < SIDE; ++i)
      for (int j = 0; j < SIDE; ++j) row[j] += PG[i] * Q_last[SIDE * i + j];

    for (int64_t l = last - 1; l >= 0; --l) {  // row <- row T
      std::copy(row, row + SIDE, layers[l].row);
      const V* T = layers[l].T;
      for (int j = 0; j < SIDE; ++j) row[j] = V{};
      for (int i = 0; i < SIDE; ++i)
        for (int j = 0; j < SIDE; ++j) row[j] += layers[l].row[i] * T[SIDE * i + j];
    }
    for (int i = 0; i < D; ++i) column[i] = row[i] + target[i];  // minus the residual
    if (query) {
      V error{};
      for (int i = 0; i < D; ++i) error += column[i] * query[i];
      loss += 0.5f * error * error;
      for (int i = 0; i < D; ++i) column[i] = error * query[i];
    } else {
      for (int i = 0; i < D; ++i) loss += 0.5f * column[i] * column[i];
    }
    column[D] = V{};
    for (int64_t l = 0; l < last; ++l) {  // column <- T column
      std::copy(column, column + SIDE, layers[l].column);
      const V* T = layers[l].T;
      for (int i = 0; i < SIDE; ++i) {
        V total{};
        for (int j = 0; j < SIDE; ++j) total += T[SIDE * i + j] * layers[l].column[j];
        column[i] = total;
      }
    }

    // The last layer: dl/dS = e column^T, so that dl/dP has one row and dl/dQ one factor of rank 1.
    V Qc[SIDE], H[ENTRIES];
    for (int i = 0; i < SIDE; ++i) {
      Qc[i] = V{};
      for (int j = 0; j < SIDE; ++j) Qc[i] += Q_last[SIDE * i + j] * column[j];
    }
    for (int i = 0; i < SIDE; ++i) {
      V total = sums[last].P[SIDE * D + i];
      for (int j = 0; j < SIDE; ++j) {
        total += G[SIDE * i + j] * Qc[j];
        sums[last].Q[SIDE * i + j] += PG[i] * column[j];
      }
      sums[last].P[SIDE * D + i] = total;
    }
    if (last == 0) return;
    for (int i = 0; i < SIDE; ++i)
      for (int j = 0; j < SIDE; ++j)
        H[SIDE * i + j] = 0.5f * (P_row[i] * Qc[j] + P_row[j] * Qc[i]);
    for (int64_t l = last - 1; l >= 0; --l) backward(l, layers[l], sums[l], H);
  }

 private:
  void forward(int64_t l, Layer* layers) const {
    Layer& own = layers[l];
    const Vectors G{own.G}, GQ{own.GQ}, T{own.T};
    product(G, Weights{Q + ENTRIES * l}, [&](int i, int j, V value) { own.GQ[SIDE * i + j] = value; });
    product(Weights{P + ENTRIES * l}, GQ, [&](int i, int j, V value) {
      own.T[SIDE * i + j] = i == j ? value + 1.0f : value;
    });
    V TG[ENTRIES];
    product(T, G, [&](int i, int j, V value) { TG[SIDE * i + j] = value; });
    V* next = layers[l + 1].G;
    symmetric_product(Vectors{TG}, Transposed<Vectors>{T}, SIDE,
                      [&](int i, int j, V value) { next[SIDE * i + j] = value; });
  }

  // dl/dS = 2 H T G + row column^T, dl/dP = dl/dS (G Q)^T, dl/dQ = G P^T dl/dS, and for the layer
  // before dl/dG = T^T H T + sym(P^T dl/dS Q^T).
  void backward(int64_t l, const Layer& own, Sums& sums, V* H) const {
    V HT[ENTRIES], dS[ENTRIES], PdS[ENTRIES];
    const Vectors G{own.G}, T{own.T};
    product(Vectors{H}, T, [&](int i, int j, V value) { HT[SIDE * i + j] = value; });
    product(Vectors{HT}, G, [&](int i, int j, V value) {
      dS[SIDE * i + j] = 2.0f * value + own.row[i] * own.column[j];
    });
    product(Vectors{dS}, Transposed<Vectors>{{own.GQ}},
            [&](int i, int j, V value) { sums.P[SIDE * i + j] += value; });
    const Weights P_l{P + ENTRIES * l}, Q_l{Q + ENTRIES * l};
    product(Transposed<Weights>{P_l}, Vectors{dS},
            [&](int i, int j, V value) { PdS[SIDE * i + j] = value; });
    product(G, Vectors{PdS}, [&](int i, int j, V value) { sums.Q[SIDE * i + j] += value; });
    if (l == 0) return;
    V through[ENTRIES];
    product(Vectors{PdS}, Transposed<Weights>{Q_l},
            [&](int i, int j, V value) { through[SIDE * i + j] = 0.5f * value; });
    symmetric_product(Transposed<Vectors>{T}, Vectors{HT}, SIDE, [&](int i, int j, V value) {
      H[SIDE * i + j] = value + through[SIDE * i + j] + through[SIDE * j + i];
    });
  }
};

struct Population {
  const float *P, *Q, *scale;
  NoiseTable noise;  // of the first member
  Key normals, uniforms;
  int64_t members, depth, batch, n;
  bool query;

  // One slot: the sums over its sequences, for every member the loss and then dP and dQ by layer.
  void add_slot(int64_t first, int64_t end, float* out) const {
    const int64_t size = 1 + 2 * depth * ENTRIES, weights = depth * ENTRIES;
    thread_local std::vector<Layer> layers;
    thread_local std::vector<Sums> sums;
    thread_local std::vector<V> losses, tokens;
    thread_local std::vector<Sequences> drawn;
    layers.resize(depth);
    sums.assign(members * depth, Sums{});
    losses.assign(members, V{});
    tokens.resize(n * SIDE);
    drawn.resize(TOGETHER);
    for (int64_t at = first; at < end; at += TOGETHER * LANES) {
      const int64_t blocks = std::min(TOGETHER, (end - at + LANES - 1) / LANES);
      for (int64_t k = 0; k < blocks; ++k)
        drawn[k].draw(normals, uniforms, at + k * LANES, batch, n, scale, query,
                      tokens.data());
      for (int64_t m = 0; m < members; ++m) {
        const int64_t pieces = noise.pieces;
        const NoiseTable own{noise.ends + m * pieces, noise.low + m * pieces,
                             noise.high + m * pieces, pieces};
        const Network network{P + m * weights, Q + m * weights, depth};
        for (int64_t k = 0; k < blocks; ++k) {
          drawn[k].with_noise(own.quantile(drawn[k].u), layers[0].G);
          network.add(drawn[k].w, query ? drawn[k].query : nullptr, layers.data(),
                      &sums[m * depth], losses[m]);
        }
      }
    }
    for (int64_t m = 0; m < members; ++m) {
      float* to = out + m * size;
      *to++ = sum_of(losses[m]);
      for (int64_t l = 0; l < depth; ++l)
        for (const V* part : {sums[m * depth + l].P, sums[m * depth + l].Q})
          for (int k = 0; k < ENTRIES; ++k) *to++ = sum_of(part[k]);
    }
  }
};

using Numbers = ffi::Buffer<ffi::F32>;
using Result = ffi::ResultBuffer<ffi::F32>;

ffi::Error loss_and_gradient(ffi::ThreadPool pool, Numbers P, Numbers Q,
                             ffi::Buffer<ffi::U32> keys, Numbers ends, Numbers low,
                             Numbers high, Numbers scale, int64_t batch, int64_t n, int64_t query,
                             Result loss, Result dP, Result dQ) {
  const auto shape = P.dimensions();
  const int64_t members = shape[0], depth = shape[1];
  const uint32_t* key = keys.typed_data();
  const Population population{
      P.typed_data(), Q.typed_data(), scale.typed_data(),
      NoiseTable{ends.typed_data(), low.typed_data(), high.typed_data(), ends.dimensions()[1]},
      Key{key[0], key[1]}, Key{key[2], key[3]}, members, depth, batch, n, query != 0};
  const int64_t size = 1 + 2 * depth * ENTRIES;
  const int64_t blocks = (batch + LANES - 1) / LANES, per_slot = (blocks + SLOTS - 1) / SLOTS;
  const int64_t slots = (blocks + per_slot - 1) / per_slot;
  std::vector<float> parts(slots * members * size);
  for_each_item(pool, slots, [&](int64_t slot) {
    const int64_t first = slot * per_slot * LANES;
    population.add_slot(first, std::min(first + per_slot * LANES, batch),
                        parts.data() + slot * members * size);
  });
  for (int64_t m = 0; m < members; ++m)
    for (int64_t k = 0; k < size; ++k) {
      double total = 0;
      for (int64_t slot = 0; slot < slots; ++slot) total += parts[(slot * members + m) * size + k];
      const float mean = float(total / batch);
      if (k == 0) {
        loss->typed_data()[m] = mean;
        continue;
      }
      const int64_t l = (k - 1) / (2 * ENTRIES), within = (k - 1) % (2 * ENTRIES);
      Result& to = within < ENTRIES ? dP : dQ;
      to->typed_data()[(m * depth + l) * ENTRIES + within % ENTRIES] = mean;
    }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(full_network_loss_and_gradient, loss_and_gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Arg<ffi::Buffer<ffi::U32>>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Attr<int64_t>("batch")
                                  .Attr<int64_t>("n")
                                  .Attr<int64_t>("query")
                                  .Ret<Numbers>()
                                  .Ret<Numbers>()
                                  .Ret<Numbers>());
