// Loss and gradient of FULL linear transformers with one head, a group of threads per sequence.
//
// The mathematics is that of attnlab.linear.kernels.gram: S = P G Q, T = I + S, G <- T G T^T, and
// the reverse pass with H = dl/dG. A thread computes a 4 x 4 tile of every product, because what
// limits the kernel is how often it reads the memory that a group shares: such a tile takes two
// reads of four numbers per 16 multiplications. The matrices of all layers stay in that memory,
// with zeros up to a multiple of four, and so do the weights, which the groups of a block share. A
// group adds up the gradients of its sequences.
#include "items.cuh"

constexpr int D = SIDE - 1;
constexpr int TILES = (SIDE + 3) / 4;  // along a side
constexpr int PAD = 4 * TILES;         // numbers of a row in memory
constexpr int MATRIX = PAD * PAD;
static_assert(SIDE <= 16, "a group is a part of a warp");

struct alignas(4 * sizeof(F)) Four {
  F part[4];
};

EITHER Four four(const F* from) { return *reinterpret_cast<const Four*>(from); }

// A tile of a product: rows `row(r)` and columns `column(c)` for r, c = 0 .. 3. They are every
// TILES-th one where a thread reads along rows of a factor, because the threads of a group then read
// different banks of memory, and adjacent ones where it reads across them.
template <bool left_transposed, bool right_transposed>
struct Tile {
  int i, j;
  F part[4][4];

  EITHER explicit Tile(int thread) : i(thread / TILES), j(thread % TILES) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) part[r][c] = 0;
  }
  EITHER int row(int r) const { return left_transposed ? 4 * i + r : i + TILES * r; }
  EITHER int column(int c) const { return right_transposed ? j + TILES * c : 4 * j + c; }

  // Adds the product of A or its transpose and B or its transpose.
  EITHER void multiply(const F* A, const F* B) {
#pragma unroll
    for (int k = 0; k < PAD; k += 4) {
      Four a[4], b[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        a[q] = four(left_transposed ? A + (k + q) * PAD + 4 * i : A + row(q) * PAD + k);
        b[q] = four(right_transposed ? B + column(q) * PAD + k : B + (k + q) * PAD + 4 * j);
      }
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
          for (int c = 0; c < 4; ++c)
            part[r][c] += (left_transposed ? a[q].part[r] : a[r].part[q]) *
                          (right_transposed ? b[c].part[q] : b[q].part[c]);
    }
  }

  EITHER void load(const F* from) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      Four own = four(from + row(r) * PAD + 4 * j);
#pragma unroll
      for (int c = 0; c < 4; ++c) part[r][c] = own.part[c];
    }
  }
  EITHER void add(const Tile& other) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) part[r][c] += other.part[r][c];
  }

  // `change(row, column, entry)` in place of every entry.
  template <typename Change>
  EITHER void each(Change change) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) part[r][c] = change(row(r), column(c), part[r][c]);
  }
  EITHER void store(F* to) const {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (right_transposed) {
#pragma unroll
        for (int c = 0; c < 4; ++c) to[row(r) * PAD + column(c)] = part[r][c];
      } else {
        *reinterpret_cast<Four*>(to + row(r) * PAD + 4 * j) =
            Four{part[r][0], part[r][1], part[r][2], part[r][3]};
      }
    }
  }
};

template <bool left_transposed, bool right_transposed>
EITHER Tile<left_transposed, right_transposed> product(int thread, const F* A, const F* B) {
  Tile<left_transposed, right_transposed> tile(thread);
  tile.multiply(A, B);
  return tile;
}

// A B, A B^T and A^T B. The last also serves for A B with a symmetric A.
EITHER Tile<false, false> plain(int t, const F* A, const F* B) {
  return product<false, false>(t, A, B);
}
EITHER Tile<false, true> right_transposed(int t, const F* A, const F* B) {
  return product<false, true>(t, A, B);
}
EITHER Tile<true, false> left_transposed(int t, const F* A, const F* B) {
  return product<true, false>(t, A, B);
}

struct LossAndGradient {
  static constexpr int THREADS = TILES * TILES;
  static constexpr int TOGETHER = 32 / THREADS;

  const F *P, *Q, *G, *targets;
  F *loss, *gradient;
  int64_t sequences, slots, apart;  // `apart` is 0 where all members share the sequences
  int depth;

  // The numbers a group shares: G and T of all layers, five matrices more, rows and columns. The
  // groups of a warp are half the banks apart.
  static int64_t memory(int64_t depth) {
    int64_t used = (2 * depth + 5) * MATRIX + (2 * depth + 2) * PAD;
    return used + (48 - used % 32) % 32;
  }

  // The numbers that the groups of a block share: P and Q of all layers of their member.
  static int64_t common(int64_t depth) { return 2 * depth * MATRIX; }

  EITHER void prepare(int64_t item, F* weights, int thread, int threads) const {
    int64_t size = depth * MATRIX, from = item / slots * size;
    for (int64_t i = thread; i < size; i += threads) {
      weights[i] = P[from + i];
      weights[size + i] = Q[from + i];
    }
  }

  // The groups of a warp have adjacent slots and make as many rounds as the first of them.
  EITHER void operator()(int64_t item, const F* weights, F* shared) const {
    int64_t member = item / slots, slot = item % slots, first = slot - slot % TOGETHER;
    for (int64_t round = 0; !round || first + round * slots < sequences; ++round) {
      int64_t s = slot + round * slots;
      bool live = s < sequences;
      sequence(member * apart + (live ? s : sequences - 1), live, weights,
               weights + depth * MATRIX, shared, loss + item, gradient + item * depth * 2 * MATRIX,
               round > 0);
    }
  }

  template <typename Body>
  EITHER static void each(Body body) {
    each_thread<THREADS>(body);
  }
  template <typename Body>
  EITHER static void each_row(Body body) {
    each([&](int t) {
      for (int i = t; i < SIDE; i += THREADS) body(i);
    });
  }

  EITHER void sequence(int64_t s, bool live, const F* P, const F* Q, F* shared, F* loss, F* into,
                       bool begun) const {
    F *Gs = shared, *Ts = Gs + depth * MATRIX, *work = Ts + depth * MATRIX;
    F *rows = work + 5 * MATRIX, *columns = rows + (depth + 1) * PAD;
    each([&](int t) {
      Tile<true, false> tile(t);
      tile.each([&](int i, int j, F) {
        return i < SIDE && j < SIDE ? G[(s * SIDE + i) * SIDE + j] : F(0);
      });
      tile.store(Gs);
      for (int i = t; i < (2 * depth + 2) * PAD; i += THREADS)
        rows[i] = i == depth * PAD + D ? F(1) : F(0);
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
    // The column is minus the residual -row - target, the loss its square. A sequence beyond the
    // last one counts nothing.
    each_row([&](int j) { columns[j] = j < D && live ? rows[j] + targets[s * D + j] : F(0); });
    for (int l = 0; l + 1 < depth; ++l)
      each_row([&](int i) {
        const F *T = Ts + l * MATRIX + i * PAD, *column = columns + l * PAD;
        F sum = 0;
#pragma unroll
        for (int k = 0; k < SIDE; ++k) sum += T[k] * column[k];
        columns[(l + 1) * PAD + i] = sum;
      });
    each([&](int t) {
      if (t) return;
      F sum = 0;
#pragma unroll
      for (int j = 0; j < D; ++j) sum += columns[j] * columns[j];
      *loss = (begun ? *loss : F(0)) + sum / 2;
    });
    for (int l = depth - 1; l >= 0; --l)
      reverse(P + l * MATRIX, Q + l * MATRIX, Gs + l * MATRIX, Ts + l * MATRIX, work,
              rows + (l + 1) * PAD, columns + l * PAD, into + l * 2 * MATRIX, l, begun);
  }

  EITHER void forward(const F* P, const F* Q, const F* G, F* T, F* work, F* after) const {
    each([&](int t) { left_transposed(t, G, Q).store(work); });
    each([&](int t) {
      auto tile = plain(t, P, work);
      tile.each([](int i, int j, F entry) { return i == j && i < SIDE ? entry + 1 : entry; });
      tile.store(T);
    });
    if (!after) return;
    each([&](int t) { plain(t, T, G).store(work); });
    each([&](int t) { right_transposed(t, work, T).store(after); });
  }

  // H T and dS = 2 H T G + row column^T; dP = dS Q^T G, X = P^T dS, dQ = G X; then
  // H <- T^T H T + sym(X Q^T). No G comes after the last layer, so H is 0 there.
  EITHER void reverse(const F* P, const F* Q, const F* G, const F* T, F* work, const F* row,
                      const F* column, F* into, int l, bool begun) const {
    F *H = work, *HT = work + MATRIX, *dS = work + 2 * MATRIX, *X = work + 3 * MATRIX;
    F* XQ = work + 4 * MATRIX;
    bool is_last = l + 1 == depth;
    if (!is_last) each([&](int t) { left_transposed(t, H, T).store(HT); });
    each([&](int t) {
      Tile<false, false> tile(t);
      if (!is_last) tile.multiply(HT, G);
      tile.each([&](int i, int j, F entry) { return 2 * entry + row[i] * column[j]; });
      tile.store(dS);
    });
    each([&](int t) {
      right_transposed(t, dS, Q).store(XQ);  // for dP; X Q^T takes its place
      left_transposed(t, P, dS).store(X);
    });
    each([&](int t) {
      // What was added up so far is read before the products, which hide how long that takes.
      Tile<false, false> dP(t);
      Tile<true, false> dQ(t);
      if (begun) {
        dP.load(into);
        dQ.load(into + MATRIX);
      }
      dP.add(plain(t, XQ, G));
      dP.store(into);
      dQ.add(left_transposed(t, G, X));
      dQ.store(into + MATRIX);
    });
    if (!l) return;
    each([&](int t) { right_transposed(t, X, Q).store(XQ); });
    each([&](int t) {
      Tile<true, false> tile(t);
      if (!is_last) tile.multiply(T, HT);
      tile.each([&](int i, int j, F entry) {
        return entry + (XQ[i * PAD + j] + XQ[j * PAD + i]) / 2;
      });
      tile.store(H);
    });
  }
};

ffi::Error loss_and_gradient(Place stream, Numbers P, Numbers Q, Numbers G, Numbers targets,
                             Result loss, Result gradient) {
  int64_t members = P.dimensions()[0], depth = P.dimensions()[1];
  int64_t sequences = G.dimensions()[1], slots = loss->dimensions()[1];
  int64_t apart = G.dimensions()[0] == 1 ? 0 : sequences;
  return for_each_group(stream, members * slots, slots, LossAndGradient::memory(depth),
                        LossAndGradient::common(depth),
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
