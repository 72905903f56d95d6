// One body of code for many items: a thread, or a group of them, each on a GPU, a loop on the host.
//
// A functor answers operator()(item) for item = 0 .. count - 1. Compiled by nvcc it runs on the
// stream that XLA gives; compiled by a C++ compiler, for tests without a GPU, in order.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

constexpr auto TYPE = ffi::DataType::REAL;  // F32 or F64
using F = ffi::NativeType<TYPE>;
using Numbers = ffi::Buffer<TYPE>;
using Result = ffi::ResultBuffer<TYPE>;

#ifdef __CUDACC__

#define EITHER __device__ inline

using Place = cudaStream_t;
using PlaceContext = ffi::PlatformStream<cudaStream_t>;

// 128 threads: each may have all the registers that the architecture gives one.
template <typename Body>
__global__ void __launch_bounds__(128) run_items(int64_t count, Body body) {
  int64_t item = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (item < count) body(item);
}

inline ffi::Error launched() {
  cudaError_t failed = cudaGetLastError();
  if (failed == cudaSuccess) return ffi::Error::Success();
  return ffi::Error(ffi::ErrorCode::kInternal, cudaGetErrorString(failed));
}

// Few items spread over the multiprocessors: a warp a block until every one has its share.
template <typename Body>
ffi::Error for_each(Place stream, int64_t count, Body body) {
  int threads = count < 64 * 1024 ? 32 : 128;
  run_items<<<(count + threads - 1) / threads, threads, 0, stream>>>(count, body);
  return launched();
}

constexpr int LANES = 16;  // threads of a group
constexpr int GROUPS = 4;  // of a block

template <typename Body>
__global__ void __launch_bounds__(LANES* GROUPS) run_groups(int64_t count, int64_t size, Body body) {
  extern __shared__ __align__(16) unsigned char shared[];
  int64_t item = blockIdx.x * int64_t{GROUPS} + threadIdx.x / LANES;
  F* memory = reinterpret_cast<F*>(shared) + threadIdx.x / LANES * size;
  if (item < count) body(item, memory);
}

// A group of threads for each item, which share `size` numbers.
template <typename Body>
ffi::Error for_each_group(Place stream, int64_t count, int64_t size, Body body) {
  int64_t bytes = GROUPS * size * sizeof(F);
  // The limit belongs to the function: two threads that launch it for two sizes take turns.
  static std::mutex turn;
  std::lock_guard<std::mutex> held(turn);
  cudaFuncSetAttribute(run_groups<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  run_groups<<<(count + GROUPS - 1) / GROUPS, LANES * GROUPS, bytes, stream>>>(count, size, body);
  return launched();
}

// `body(i)` for i = 0 .. SIDE - 1, a thread of the group each; all have ended when it returns.
template <typename Body>
EITHER void each_row(Body body) {
  unsigned lane = threadIdx.x % LANES;
  if (lane < SIDE) body(lane);
  __syncwarp(0xffffu << (threadIdx.x / LANES % 2 * LANES));
}

#else

#define EITHER inline

using Place = ffi::Context;
using PlaceContext = ffi::Context;

template <typename Body>
ffi::Error for_each(Place, int64_t count, Body body) {
  for (int64_t item = 0; item < count; ++item) body(item);
  return ffi::Error::Success();
}

template <typename Body>
ffi::Error for_each_group(Place, int64_t count, int64_t size, Body body) {
  std::vector<F> memory(size);
  for (int64_t item = 0; item < count; ++item) body(item, memory.data());
  return ffi::Error::Success();
}

template <typename Body>
EITHER void each_row(Body body) {
  for (int i = 0; i < SIDE; ++i) body(i);
}

#endif
