// The sequences of `attnlab.linear.training.batches.draw_batch`, a block of LANES at a time.
//
// The random bits are those of jax.random with its default generator, Threefry 2x32 with 20 rounds
// (Salmon et al., SC 2011), which hashes the position of a number in its array. A normal number is
// sqrt(2) erfinv(u) with the approximation of erfinv by Giles ("Approximating the erfinv function",
// GPU Computing Gems, 2010), as XLA has it; the two differ by rounding.
#pragma once

#include "lanes.h"
#include "products.h"

namespace {

struct Key {
  uint32_t first, second;
};

inline U rotated(U x, int by) { return (x << by) | (x >> (32 - by)); }

// The bits that jax.random gives the entries at these positions of an array.
inline U random_bits(Key key, U position) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t schedule[3] = {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAu};
  U x = U{} + schedule[0], y = position + schedule[1];
#pragma GCC unroll 5
  for (uint32_t group = 0; group < 5; ++group) {
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
      x += y;
      y = rotated(y, rotations[group % 2][round]) ^ x;
    }
    x += schedule[(group + 1) % 3];
    y += schedule[(group + 2) % 3] + group + 1;
  }
  return x ^ y;
}

// From 0 to 1, without 1.
inline V uniform(U bits) { return bits_of<V>((bits >> 9) | 0x3f800000u) - 1.0f; }

inline V normal(U bits) {
  constexpr float least = -0.99999994f;  // the number after -1
  V u = 2.0f * uniform(bits) + least;
  u = u < least ? broadcast(least) : u;
  V w = -logarithm((1.0f - u) * (1.0f + u));
  constexpr float central[] = {2.81022636e-08f,  3.43273939e-07f,  -3.5233877e-06f,
                               -4.39150654e-06f, 0.00021858087f,   -0.00125372503f,
                               -0.00417768164f,  0.246640727f,     1.50140941f};
  constexpr float outer[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                             -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                             0.00943887047f,   1.00167406f,     2.83297682f};
  I inside = w < 5.0f;
  V x = inside ? w - 2.5f : square_root(w) - 3.0f;
  V found = inside ? broadcast(central[0]) : broadcast(outer[0]);
#pragma GCC unroll 8
  for (int k = 1; k < 9; ++k)
    found = found * x + (inside ? broadcast(central[k]) : broadcast(outer[k]));
  return 1.41421356f * found * u;
}

// LANES sequences with unit noise: G = [X xi]^T [X xi], w, a query, the uniform number of the noise
// level, and what the noise of every member is added to (`with_noise` in `batches`).
struct Sequences {
  V G[ENTRIES], w[D], query[D], u;
  V Sw[D], wSw, wb;  // Sigma w, w^T Sigma w and w^T X^T xi

  // The sequences from `first` on; those from `count` on are zero, which changes no sum. `tokens`
  // has room for n rows of SIDE numbers. Queries are drawn only where they are asked for.
  void draw(Key normals, Key uniforms, int64_t first, int64_t count, int64_t n, const float* scale,
            bool queries, V* tokens) {
    U sequence;
    I kept;
    for (int lane = 0; lane < LANES; ++lane) {
      sequence[lane] = uint32_t(first + lane);
      kept[lane] = first + lane < count ? -1 : 0;
    }
    const U begin = sequence * uint32_t((n + 2) * SIDE);
    const V zero{};
    for (int i = 0; i < D; ++i) {
      V drawn = normal(random_bits(normals, begin + uint32_t(i)));
      w[i] = kept ? drawn : zero;
      if (queries) query[i] = scale[i] * normal(random_bits(normals, begin + uint32_t(SIDE + i)));
    }
    for (int64_t token = 0; token < n; ++token)
      for (int i = 0; i < SIDE; ++i) {
        V drawn = normal(random_bits(normals, begin + uint32_t((token + 2) * SIDE + i)));
        tokens[token * SIDE + i] = kept ? drawn * (i < D ? scale[i] : 1.0f) : zero;
      }
    u = uniform(random_bits(uniforms, sequence));
    symmetric_product(Transposed<Vectors>{{tokens}}, Vectors{tokens}, n,
                      [&](int i, int j, V value) { G[SIDE * i + j] = value; });
    wSw = wb = zero;
    for (int i = 0; i < D; ++i) {
      Sw[i] = zero;
      for (int j = 0; j < D; ++j) Sw[i] += G[SIDE * i + j] * w[j];
      wSw += w[i] * Sw[i];
      wb += w[i] * G[SIDE * i + D];
    }
  }

  // The Gram matrix of [X y] with y = X w + sigma xi.
  void with_noise(V sigma, V* out) const {
    for (int i = 0; i < D; ++i) {
      for (int j = 0; j < D; ++j) out[SIDE * i + j] = G[SIDE * i + j];
      out[SIDE * i + D] = out[SIDE * D + i] = Sw[i] + sigma * G[SIDE * i + D];
    }
    out[SIDE * D + D] = wSw + 2.0f * sigma * wb + sigma * sigma * G[SIDE * D + D];
  }
};

// The quantile function of a noise law in pieces (`NoiseTable` in `batches`).
struct NoiseTable {
  const float *ends, *low, *high;
  int64_t pieces;

  V quantile(V u) const {
    V start{}, end = broadcast(ends[0]), from = broadcast(low[0]), to = broadcast(high[0]);
    for (int64_t k = 1; k < pieces; ++k) {
      I beyond = u >= ends[k - 1];
      start = beyond ? broadcast(ends[k - 1]) : start;
      end = beyond ? broadcast(ends[k]) : end;
      from = beyond ? broadcast(low[k]) : from;
      to = beyond ? broadcast(high[k]) : to;
    }
    V length = end - start;
    constexpr float tiny = 1.17549435e-38f;
    length = length < tiny ? broadcast(tiny) : length;
    return from + (to - from) * ((u - start) / length);
  }
};

}  // namespace
