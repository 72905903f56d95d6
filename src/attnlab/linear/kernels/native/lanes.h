// One number per sequence for as many sequences as a vector register holds.
//
// All arithmetic of the kernel is on such vectors, so that sequences never share a register with
// their own numbers and no shuffles are needed. Weights, which all sequences share, are broadcast.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif

typedef float V __attribute__((vector_size(4 * LANES)));
typedef uint32_t U __attribute__((vector_size(4 * LANES)));
typedef int32_t I __attribute__((vector_size(4 * LANES)));

inline V broadcast(float value) { return V{} + value; }

inline float sum_of(V x) {
  float total = 0;
  for (int lane = 0; lane < LANES; ++lane) total += x[lane];
  return total;
}

inline V square_root(V x) {
  V found;
  for (int lane = 0; lane < LANES; ++lane) found[lane] = std::sqrt(x[lane]);
  return found;
}

template <typename To, typename From>
inline To bits_of(From x) {
  static_assert(sizeof(To) == sizeof(From), "a vector is read as one of the same size");
  To found;
  std::memcpy(&found, &x, sizeof(found));
  return found;
}

// The natural logarithm of positive normal numbers: x = 2^e m with m from 1/sqrt(2) to sqrt(2), and
// the polynomial of the Cephes library for log(m) (Moshier, logf).
inline V logarithm(V x) {
  I raw = bits_of<I>(x);
  V m = bits_of<V>((raw & 0x007fffff) | 0x3f800000);
  I e = (raw >> 23) - 127;
  I large = m > 1.41421356f;
  m = large ? 0.5f * m : m;
  V exponent = __builtin_convertvector(large ? e + 1 : e, V);
  V f = m - 1.0f, z = f * f;
  constexpr float coefficients[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                    -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                    2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  V y = broadcast(coefficients[0]);
  for (int k = 1; k < 9; ++k) y = y * f + coefficients[k];
  y = y * f * z - 2.12194440e-4f * exponent - 0.5f * z;
  return f + y + 0.693359375f * exponent;
}

}  // namespace
