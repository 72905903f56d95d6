// Loss and gradient of FULL linear transformers with one head, a group of threads a sequence.
//
// The mathematics is that of attnlab.linear.kernels.gram: S = P G Q, T = I + S, G <- T G T^T, and
// the reverse pass with H = dl/dG. Thread i of a group has row i of every matrix; the matrices of
// all layers stay in memory that the group shares. A group adds up the gradients of its sequences.
#include "items.cuh"

constexpr int D = SIDE - 1;
constexpr int PAD = (SIDE + 3) / 4 * 4;  // numbers a row takes in memory
constexpr int MATRIX = SIDE * PAD;
static_assert(SIDE <= 16, "a row is a thread of a group of 16");

struct alignas(16) Four {
  F part[4];
};

struct Row {
  F part[PAD];

  EITHER explicit Row() {
#pragma unroll
    for (int j = 0; j < PAD; ++j) part[j] = 0;
  }
  // Four numbers at a time.
  EITHER explicit Row(const F* from) {
#pragma unroll
    for (int q = 0; q < PAD / 4; ++q) {
      Four four = reinterpret_cast<const Four*>(from)[q];
#pragma unroll
      for (int j = 0; j < 4; ++j) part[4 * q + j] = four.part[j];
    }
  }
  EITHER void store(F* to) const {
#pragma unroll
    for (int q = 0; q < PAD / 4; ++q) {
      Four four;
#pragma unroll
      for (int j = 0; j < 4; ++j) four.part[j] = part[4 * q + j];
      reinterpret_cast<Four*>(to)[q] = four;
    }
  }
  EITHER void add(F factor, const Row& other) {
#pragma unroll
    for (int j = 0; j < SIDE; ++j) part[j] += factor * other.part[j];
  }
};

EITHER F dot(const Row& a, const Row& b) {
  F sum = 0;
#pragma unroll
  for (int j = 0; j < SIDE; ++j) sum += a.part[j] * b.part[j];
  return sum;
}

// row A.
EITHER Row times(const Row& row, const F* A) {
  Row product;
#pragma unroll
  for (int k = 0; k < SIDE; ++k) product.add(row.part[k], Row(A + k * PAD));
  return product;
}

// row A^T.
EITHER Row times_transposed(const Row& row, const F* A) {
  Row product;
#pragma unroll
  for (int j = 0; j < SIDE; ++j) product.part[j] = dot(row, Row(A + j * PAD));
  return product;
}

// (A^T B)_i.
EITHER Row transposed_times(const F* A, int i, const F* B) {
  Row product;
#pragma unroll
  for (int k = 0; k < SIDE; ++k) product.add(A[k * PAD + i], Row(B + k * PAD));
  return product;
}

// What a group has added up so far: read before the products that it waits for, not after them.
struct Total {
  F* into;
  F part[SIDE];

  EITHER Total(F* into, bool begun) : into(into) {
#pragma unroll
    for (int j = 0; j < SIDE; ++j) part[j] = begun ? into[j] : F(0);
  }
  EITHER void add(const Row& row) const {
#pragma unroll
    for (int j = 0; j < SIDE; ++j) into[j] = part[j] + row.part[j];
  }
};

struct LossAndGradient {
  const F *P, *Q, *G, *targets;
  F *loss, *gradient;
  int64_t sequences, slots, apart;  // `apart` is 0 where all members share the sequences
  int depth;

  // The numbers a group shares: G and T of all layers, five matrices more, rows and columns.
  static int64_t memory(int64_t depth) { return (2 * depth + 5) * MATRIX + (2 * depth + 2) * PAD; }

  EITHER void operator()(int64_t item, F* shared) const {
    int64_t member = item / slots, slot = item % slots;
    for (int64_t s = slot; s < sequences; s += slots)
      sequence(member * apart + s, P + member * depth * MATRIX, Q + member * depth * MATRIX, shared, loss + item,
               gradient + item * depth * 2 * SIDE * SIDE, s > slot);
  }

  EITHER void sequence(int64_t s, const F* P, const F* Q, F* shared, F* loss, F* into,
                       bool begun) const {
    F *Gs = shared, *Ts = Gs + depth * MATRIX, *work = Ts + depth * MATRIX;
    F *rows = work + 5 * MATRIX, *columns = rows + (depth + 1) * PAD;
    each_row([&](int i) {
      Row row;
#pragma unroll
      for (int j = 0; j < SIDE; ++j) row.part[j] = G[(s * SIDE + i) * SIDE + j];
      row.store(Gs + i * PAD);
      rows[depth * PAD + i] = i == D ? F(1) : F(0);
    });
    for (int l = 0; l < depth; ++l)
      forward(P + l * MATRIX, Q + l * MATRIX, Gs + l * MATRIX, Ts + l * MATRIX, work,
              l + 1 < depth ? Gs + (l + 1) * MATRIX : nullptr);
    for (int l = depth - 1; l >= 0; --l)
      each_row([&](int j) {
        const F *T = Ts + l * MATRIX, *row = rows + (l + 1) * PAD;
        F sum = 0;
#pragma unroll
        for (int k = 0; k < SIDE; ++k) sum += row[k] * T[k * PAD + j];
        rows[l * PAD + j] = sum;
      });
    each_row([&](int j) {  // the column is minus the residual -row - target, the loss its square
      columns[j] = j < D ? rows[j] + targets[s * D + j] : F(0);
    });
    for (int l = 0; l + 1 < depth; ++l)
      each_row([&](int i) {
        columns[(l + 1) * PAD + i] = dot(Row(Ts + l * MATRIX + i * PAD), Row(columns + l * PAD));
      });
    each_row([&](int i) {
      Row residual(columns);
      if (i == 0) *loss = (begun ? *loss : F(0)) + dot(residual, residual) / 2;
    });
    for (int l = depth - 1; l >= 0; --l)
      reverse(P + l * MATRIX, Q + l * MATRIX, Gs + l * MATRIX, Ts + l * MATRIX, work,
              rows + (l + 1) * PAD, columns + l * PAD, into + l * 2 * SIDE * SIDE, l, begun);
  }

  EITHER void forward(const F* P, const F* Q, const F* G, F* T, F* GQ, F* after) const {
    each_row([&](int i) { times(Row(G + i * PAD), Q).store(GQ + i * PAD); });
    each_row([&](int i) {
      Row row = times(Row(P + i * PAD), GQ);
#pragma unroll
      for (int j = 0; j < SIDE; ++j) row.part[j] += i == j ? F(1) : F(0);
      row.store(T + i * PAD);
    });
    if (!after) return;
    each_row([&](int i) {
      times_transposed(times(Row(T + i * PAD), G), T).store(after + i * PAD);
    });
  }

  // H T and dS = 2 H T G + row column^T; dP = dS (G Q)^T, X = P^T dS, dQ = G X; then
  // H <- T^T H T + sym(X Q^T). No G comes after the last layer, so H is 0 there.
  EITHER void reverse(const F* P, const F* Q, const F* G, const F* T, F* work, const F* row,
                      const F* column, F* into, int l, bool begun) const {
    F *H = work, *HT = work + MATRIX, *dS = work + 2 * MATRIX, *X = work + 3 * MATRIX;
    F* XQ = work + 4 * MATRIX;
    bool is_last = l + 1 == depth;
    each_row([&](int i) {
      Row gradient;
      if (!is_last) {
        Row product = times(Row(H + i * PAD), T);
        product.store(HT + i * PAD);
        gradient.add(2, times(product, G));
      }
      gradient.add(row[i], Row(column));
      gradient.store(dS + i * PAD);
    });
    each_row([&](int i) {
      Total dP(into + i * SIDE, begun);
      dP.add(times(times_transposed(Row(dS + i * PAD), Q), G));
      Row through = transposed_times(P, i, dS);
      through.store(X + i * PAD);
      if (!l) return;
      times_transposed(through, Q).store(XQ + i * PAD);
      (is_last ? Row() : transposed_times(T, i, HT)).store(H + i * PAD);
    });
    each_row([&](int i) {
      Total dQ(into + (SIDE + i) * SIDE, begun);
      dQ.add(times(Row(G + i * PAD), X));
      if (!l) return;
      Row before(H + i * PAD);
      before.add(F(0.5), Row(XQ + i * PAD));
#pragma unroll
      for (int j = 0; j < SIDE; ++j) before.part[j] += XQ[j * PAD + i] / 2;
      before.store(H + i * PAD);
    });
  }
};

ffi::Error loss_and_gradient(Place stream, Numbers P, Numbers Q, Numbers G, Numbers targets,
                             Result loss, Result gradient) {
  int64_t members = P.dimensions()[0], depth = P.dimensions()[1];
  int64_t sequences = G.dimensions()[1], slots = loss->dimensions()[1];
  int64_t apart = G.dimensions()[0] == 1 ? 0 : sequences;
  return for_each_group(stream, members * slots, LossAndGradient::memory(depth),
                        LossAndGradient{P.typed_data(), Q.typed_data(), G.typed_data(),
                                        targets.typed_data(), loss->typed_data(),
                                        gradient->typed_data(), sequences, slots, apart,
                                        int(depth)});
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(full_loss_and_gradient, loss_and_gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<PlaceContext>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Ret<Numbers>()
                                  .Ret<Numbers>());
