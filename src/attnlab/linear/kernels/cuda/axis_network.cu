// Networks with AXES input directions singled out (attnlab.linear.models.axis) on many sequences.
//
// A layer is S = P G Q, T = I + S, G <- T G T^T; P and Q are a BLOCK x BLOCK matrix on the singled
// out inputs and y, and one number on the other inputs. `answers` gives w = -(T_L ... T_1)[-1, :d]
// and the G before every layer; `jacobian` gives dw/d(weights) from these, a thread for each
// sequence and output.
#include "matrices.cuh"

constexpr int D = SIDE - 1;
constexpr int BLOCK = AXES + 1;
constexpr int NUMBERS = BLOCK * BLOCK + 1;  // of P, and of Q

EITHER constexpr bool special(int i) { return i < AXES || i == D; }
EITHER constexpr int inside(int i) { return i < AXES ? i : AXES; }
EITHER constexpr int outside(int s) { return s < AXES ? s : D; }

struct Factor {
  F block[BLOCK][BLOCK], rest;

  EITHER explicit Factor(const F* from) : rest(from[BLOCK * BLOCK]) {
#pragma unroll
    for (int s = 0; s < BLOCK; ++s)
#pragma unroll
      for (int t = 0; t < BLOCK; ++t) block[s][t] = from[s * BLOCK + t];
  }
};

// (P G)_i.
EITHER void left_row(const Factor& P, const F (&G)[PACKED], int i, F (&row)[SIDE]) {
#pragma unroll
  for (int j = 0; j < SIDE; ++j) {
    if (!special(i)) {
      row[j] = P.rest * G[at(i, j)];
      continue;
    }
    row[j] = 0;
#pragma unroll
    for (int s = 0; s < BLOCK; ++s) row[j] += P.block[inside(i)][s] * G[at(outside(s), j)];
  }
}

// row Q, or row Q^T.
template <bool TRANSPOSED = false>
EITHER void times(const F (&row)[SIDE], const Factor& Q, F (&product)[SIDE]) {
#pragma unroll
  for (int j = 0; j < SIDE; ++j) {
    if (!special(j)) {
      product[j] = row[j] * Q.rest;
      continue;
    }
    product[j] = 0;
#pragma unroll
    for (int s = 0; s < BLOCK; ++s) {
      F entry = TRANSPOSED ? Q.block[inside(j)][s] : Q.block[s][inside(j)];
      product[j] += row[outside(s)] * entry;
    }
  }
}

EITHER void increment(const F* layer, const F (&G)[PACKED], F (&S)[SIDE][SIDE]) {
  Factor P(layer), Q(layer + NUMBERS);
#pragma unroll ROWS
  for (int i = 0; i < SIDE; ++i) {
    F row[SIDE];
    left_row(P, G, i, row);
    times(row, Q, S[i]);
  }
}

struct Answers {
  const F *weights, *G;
  F *w, *states;
  int64_t sequences, depth, apart;  // `apart` is 0 where all members share the sequences

  EITHER void operator()(int64_t item) const {
    int64_t member = item / sequences, s = item % sequences;
    const F* layers = weights + member * depth * 2 * NUMBERS;
    F now[PACKED], S[SIDE][SIDE], before[DEEPEST][PACKED];
    load(now, G + member * apart + s, sequences);
    for (int l = 0; l < depth; ++l) {
#pragma unroll
      for (int e = 0; e < PACKED; ++e) before[l][e] = now[e];
      if (states) {
#pragma unroll
        for (int e = 0; e < PACKED; ++e)
          states[((member * depth + l) * PACKED + e) * sequences + s] = now[e];
      }
      if (l + 1 == depth) break;
      increment(layers + l * 2 * NUMBERS, now, S);
      transform(S, now);
    }
    F row[SIDE] = {};
    row[D] = 1;
    for (int l = depth - 1; l >= 0; --l) {
#pragma unroll
      for (int e = 0; e < PACKED; ++e) now[e] = before[l][e];
      increment(layers + l * 2 * NUMBERS, now, S);
      row_through(row, S);
    }
#pragma unroll
    for (int j = 0; j < D; ++j) w[(member * D + j) * sequences + s] = -row[j];
  }
};

struct Jacobian {
  const F *weights, *states;
  F* J;
  int64_t sequences, depth;

  EITHER void operator()(int64_t item) const {
    int64_t s = item % sequences, output = item / sequences % D;
    int64_t member = item / sequences / D;
    const F* layers = weights + member * depth * 2 * NUMBERS;
    const F* G_0 = states + member * depth * PACKED * sequences + s;
    F* into = J + (member * depth * 2 * NUMBERS * D + output) * sequences + s;
    F G[PACKED], S[SIDE][SIDE], columns[DEEPEST][SIDE], column[SIDE];
#pragma unroll
    for (int j = 0; j < SIDE; ++j) column[j] = j == output ? F(-1) : F(0);
    for (int l = 0; l < depth; ++l) {
#pragma unroll
      for (int j = 0; j < SIDE; ++j) columns[l][j] = column[j];
      load(G, G_0 + l * PACKED * sequences, sequences);
      increment(layers + l * 2 * NUMBERS, G, S);
      column_through(S, column);
    }
    F H[PACKED] = {}, left[SIDE] = {};
    left[D] = 1;
    for (int l = depth - 1; l >= 0; --l) {
      load(G, G_0 + l * PACKED * sequences, sequences);
      increment(layers + l * 2 * NUMBERS, G, S);
#pragma unroll
      for (int j = 0; j < SIDE; ++j) column[j] = columns[l][j];
      reverse_layer(layers + l * 2 * NUMBERS, G, S, left, column, H,
                    into + l * 2 * NUMBERS * D * sequences);
      row_through(left, S);
    }
  }

  // From H = dl/dG' to dl/dG, and the gradient of this layer's numbers.
  EITHER void reverse_layer(const F* layer, const F (&G)[PACKED], const F (&S)[SIDE][SIDE],
                            const F (&left)[SIDE], const F (&column)[SIDE], F (&H)[PACKED],
                            F* into) const {
    Factor P(layer), Q(layer + NUMBERS);
    F dG[PACKED] = {}, dP_rest = 0, dQ_rest = 0;
    F dQ[BLOCK][BLOCK] = {}, kept[BLOCK][SIDE];  // rows of dS Q^T
#pragma unroll ROWS
    for (int i = 0; i < SIDE; ++i) {
      F dS[SIDE], row[SIDE], moved[SIDE];
      reverse_row(i, H, S, G, left[i], column, dG, dS);
      left_row(P, G, i, row);
#pragma unroll
      for (int j = 0; j < SIDE; ++j) {
        if (!special(j)) {
          dQ_rest += row[j] * dS[j];
          continue;
        }
#pragma unroll
        for (int t = 0; t < BLOCK; ++t) dQ[t][inside(j)] += row[outside(t)] * dS[j];
      }
      times<true>(dS, Q, moved);
      if (special(i)) {
#pragma unroll
        for (int j = 0; j < SIDE; ++j) kept[inside(i)][j] = moved[j];
        continue;
      }
#pragma unroll
      for (int j = 0; j < SIDE; ++j) {
        dP_rest += moved[j] * G[at(i, j)];  // dS (G Q)^T = (dS Q^T) G
        dG[at(i, j)] += P.rest * moved[j] * (i == j ? F(1) : F(0.5));
      }
    }
#pragma unroll
    for (int s = 0; s < BLOCK; ++s) {
#pragma unroll
      for (int t = 0; t < BLOCK; ++t) {
        F dP = 0;
#pragma unroll
        for (int j = 0; j < SIDE; ++j) {
          int i = outside(t);
          dP += kept[s][j] * G[at(i, j)];
          dG[at(i, j)] += P.block[s][t] * kept[s][j] * (i == j ? F(1) : F(0.5));
        }
        into[(s * BLOCK + t) * D * sequences] = dP;
        into[(NUMBERS + s * BLOCK + t) * D * sequences] = dQ[s][t];
      }
    }
    into[BLOCK * BLOCK * D * sequences] = dP_rest;
    into[(NUMBERS + BLOCK * BLOCK) * D * sequences] = dQ_rest;
#pragma unroll
    for (int e = 0; e < PACKED; ++e) H[e] = dG[e];
  }
};

ffi::Error answers(Place stream, Numbers weights, Numbers G,
                   Result w, Result states) {
  int64_t members = weights.dimensions()[0], depth = weights.dimensions()[1];
  int64_t sequences = w->dimensions()[2];
  int64_t apart = G.dimensions()[0] == 1 ? 0 : PACKED * sequences;
  F* kept = states->element_count() ? states->typed_data() : nullptr;
  return for_each(stream, members * sequences,
                  Answers{weights.typed_data(), G.typed_data(), w->typed_data(), kept,
                             sequences, depth, apart});
}

ffi::Error jacobian(Place stream, Numbers weights, Numbers states,
                    Result J) {
  int64_t members = weights.dimensions()[0], depth = weights.dimensions()[1];
  int64_t sequences = states.dimensions()[3];
  return for_each(stream, members * D * sequences,
                  Jacobian{weights.typed_data(), states.typed_data(), J->typed_data(),
                              sequences, depth});
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(axis_answers, answers,
                              ffi::Ffi::Bind()
                                  .Ctx<PlaceContext>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Ret<Numbers>()
                                  .Ret<Numbers>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(axis_jacobian, jacobian,
                              ffi::Ffi::Bind()
                                  .Ctx<PlaceContext>()
                                  .Arg<Numbers>()
                                  .Arg<Numbers>()
                                  .Ret<Numbers>());
