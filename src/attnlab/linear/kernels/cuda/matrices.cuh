// Matrices of side SIDE = d + 1 in the registers of one thread: every loop is unrolled.
//
// A symmetric matrix is packed, entry (i, j) with i >= j at i (i + 1) / 2 + j. In memory the
// sequences are the innermost axis, so that neighbouring threads read neighbouring numbers.
#pragma once

#include "items.cuh"

constexpr int PACKED = SIDE * (SIDE + 1) / 2;
// In double precision a thread has too few registers for whole matrices: rows are looped over.
constexpr int ROWS = sizeof(F) == 4 ? SIDE : 1;

EITHER constexpr int at(int i, int j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

EITHER void load(F (&G)[PACKED], const F* from, int64_t stride) {
#pragma unroll
  for (int e = 0; e < PACKED; ++e) G[e] = from[e * stride];
}

// G <- (I + S) G (I + S)^T, row by row.
EITHER void transform(const F (&S)[SIDE][SIDE], F (&G)[PACKED]) {
  F after[PACKED];
#pragma unroll ROWS
  for (int i = 0; i < SIDE; ++i) {
    F row[SIDE];
#pragma unroll
    for (int j = 0; j < SIDE; ++j) {
      row[j] = G[at(i, j)];
#pragma unroll
      for (int k = 0; k < SIDE; ++k) row[j] += S[i][k] * G[at(k, j)];
    }
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      F sum = row[j];
#pragma unroll
      for (int k = 0; k < SIDE; ++k) sum += row[k] * S[j][k];
      after[at(i, j)] = sum;
    }
  }
#pragma unroll
  for (int e = 0; e < PACKED; ++e) G[e] = after[e];
}

// row <- row (I + S).
EITHER void row_through(F (&row)[SIDE], const F (&S)[SIDE][SIDE]) {
  F after[SIDE];
#pragma unroll
  for (int j = 0; j < SIDE; ++j) {
    after[j] = row[j];
#pragma unroll
    for (int k = 0; k < SIDE; ++k) after[j] += row[k] * S[k][j];
  }
#pragma unroll
  for (int j = 0; j < SIDE; ++j) row[j] = after[j];
}

// column <- (I + S) column.
EITHER void column_through(const F (&S)[SIDE][SIDE], F (&column)[SIDE]) {
  F after[SIDE];
#pragma unroll
  for (int i = 0; i < SIDE; ++i) {
    after[i] = column[i];
#pragma unroll
    for (int k = 0; k < SIDE; ++k) after[i] += S[i][k] * column[k];
  }
#pragma unroll
  for (int i = 0; i < SIDE; ++i) column[i] = after[i];
}

// One row of a layer's reverse pass, given H = dl/dG' and T = I + S: HT = (H T)_i, its share
// T_i^T (H T)_i of dl/dG, and dS = 2 (H T G)_i + left_i column, the gradient of row i of S.
EITHER void reverse_row(int i, const F (&H)[PACKED], const F (&S)[SIDE][SIDE],
                        const F (&G)[PACKED], F left, const F (&column)[SIDE],
                        F (&dG)[PACKED], F (&dS)[SIDE]) {
  F HT[SIDE];
#pragma unroll
  for (int j = 0; j < SIDE; ++j) {
    HT[j] = H[at(i, j)];
#pragma unroll
    for (int k = 0; k < SIDE; ++k) HT[j] += H[at(i, k)] * S[k][j];
  }
#pragma unroll
  for (int j = 0; j < SIDE; ++j) {
    F sum = 0;
#pragma unroll
    for (int k = 0; k < SIDE; ++k) sum += HT[k] * G[at(k, j)];
    dS[j] = 2 * sum + left * column[j];
  }
#pragma unroll
  for (int a = 0; a < SIDE; ++a) {
    F T = S[i][a] + (a == i ? F(1) : F(0));
#pragma unroll
    for (int b = 0; b <= a; ++b) dG[at(a, b)] += T * HT[b];
  }
}
