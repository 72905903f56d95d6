// Products of SIDE x SIDE matrices, LANES of them at a time, in tiles that stay in registers.
//
// A tile of 4 x 6 entries takes ten reads per 24 multiplications, and its sums, the six entries of
// the right factor and the one of the left fill the 32 registers of AVX-512. Where a product is
// symmetric, only tiles that touch its lower half are computed.
#pragma once

#include "lanes.h"

namespace {

constexpr int D = SIDE - 1;
constexpr int ENTRIES = SIDE * SIDE;
static_assert(SIDE <= 16, "a matrix should stay in the first-level cache");

// Matrices with rows of SIDE entries: one per sequence, or one that all sequences share.
struct Vectors {
  const V* at;
  inline V operator()(int64_t i, int64_t j) const { return at[SIDE * i + j]; }
};

struct Weights {
  const float* at;
  inline V operator()(int64_t i, int64_t j) const { return broadcast(at[SIDE * i + j]); }
};

template <typename Matrix>
struct Transposed {
  Matrix matrix;
  inline V operator()(int64_t i, int64_t j) const { return matrix(j, i); }
};

// Rows i .. i + ROWS - 1 and columns j .. j + COLUMNS - 1 of A B, with `inner` terms.
template <int ROWS, int COLUMNS, typename A, typename B, typename Store>
inline __attribute__((always_inline)) void tile(A a, B b, int64_t inner, int i, int j, Store store) {
  V sums[ROWS][COLUMNS] = {};
  for (int64_t k = 0; k < inner; ++k) {
    V right[COLUMNS];
#pragma GCC unroll 8
    for (int c = 0; c < COLUMNS; ++c) right[c] = b(k, j + c);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; ++r) {
      V left = a(i + r, k);
#pragma GCC unroll 8
      for (int c = 0; c < COLUMNS; ++c) sums[r][c] += left * right[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < COLUMNS; ++c) store(i + r, j + c, sums[r][c]);
}

constexpr int smaller(int a, int b) { return a < b ? a : b; }

template <int I0, int J0, typename A, typename B, typename Store>
inline __attribute__((always_inline)) void tiles_of(A a, B b, int64_t inner, Store store) {
  if constexpr (I0 < SIDE) {
    constexpr int rows = smaller(4, SIDE - I0), columns = smaller(6, SIDE - J0);
    tile<rows, columns>(a, b, inner, I0, J0, store);
    if constexpr (J0 + columns < SIDE)
      tiles_of<I0, J0 + columns>(a, b, inner, store);
    else
      tiles_of<I0 + rows, 0>(a, b, inner, store);
  }
}

// store(i, j, (A B)(i, j)) for all i, j.
template <typename A, typename B, typename Store>
inline void product(A a, B b, Store store) {
  tiles_of<0, 0>(a, b, SIDE, store);
}

template <int I0, int J0, typename A, typename B, typename Store>
inline __attribute__((always_inline)) void lower_tiles_of(A a, B b, int64_t inner, Store store) {
  if constexpr (I0 < SIDE) {
    constexpr int rows = smaller(4, SIDE - I0), columns = smaller(4, SIDE - J0);
    tile<rows, columns>(a, b, inner, I0, J0, [&](int i, int j, V value) {
      store(i, j, value);
      if constexpr (J0 < I0) store(j, i, value);
    });
    if constexpr (J0 < I0)
      lower_tiles_of<I0, J0 + 4>(a, b, inner, store);
    else
      lower_tiles_of<I0 + rows, 0>(a, b, inner, store);
  }
}

// The same where A B is known to be symmetric.
template <typename A, typename B, typename Store>
inline void symmetric_product(A a, B b, int64_t inner, Store store) {
  lower_tiles_of<0, 0>(a, b, inner, store);
}

}  // namespace
