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

constexpr int WARPS = 3;                   // of a block, at most
constexpr int64_t BLOCK_BYTES = 227 << 10;  // of memory that a block shares, at most

// A warp works at `Body::TOGETHER` groups at once, of `Body::THREADS` threads each; the threads that
// are left over end at once. Memory begins with what all groups of a block share.
template <typename Body>
__global__ void __launch_bounds__(32 * WARPS) run_groups(int64_t size, int64_t common, Body body) {
  extern __shared__ __align__(32) unsigned char shared[];
  F* memory = reinterpret_cast<F*>(shared);
  int warp = threadIdx.x / 32, group = threadIdx.x % 32 / Body::THREADS;
  int64_t first = blockIdx.x * int64_t{blockDim.x / 32 * Body::TOGETHER};
  body.prepare(first, memory, threadIdx.x, blockDim.x);
  __syncthreads();
  if (group >= Body::TOGETHER) return;
  int64_t own = warp * Body::TOGETHER + group;
  body(first + own, memory, memory + common + own * size);
}

// A group of threads for each of `count` items, which share `size` numbers, and `common` numbers
// with the other groups of their block. `each` items can be in one block, and `each` is a multiple
// of `Body::TOGETHER`; the groups of a warp take the same branches.
template <typename Body>
ffi::Error for_each_group(Place stream, int64_t count, int64_t each, int64_t size, int64_t common,
                          Body body) {
  int64_t warps = WARPS, bytes;
  do {
    bytes = (common + warps * Body::TOGETHER * size) * sizeof(F);
  } while ((each % (warps * Body::TOGETHER) || bytes > BLOCK_BYTES) && --warps);
  if (!warps) return ffi::Error(ffi::ErrorCode::kInvalidArgument, "a group needs too much memory");
  // The limit belongs to the function: two threads that launch it for two sizes take turns.
  static std::mutex turn;
  std::lock_guard<std::mutex> held(turn);
  cudaFuncSetAttribute(run_groups<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  int64_t blocks = count / (warps * Body::TOGETHER);
  run_groups<<<blocks, 32 * warps, bytes, stream>>>(size, common, body);
  return launched();
}

// `body(i)` for i = 0 .. threads - 1, a thread of the group each; all have ended when it returns.
template <int threads, typename Body>
EITHER void each_thread(Body body) {
  body(threadIdx.x % threads);
  __syncwarp(0xffffffffu >> (32 % threads));
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
ffi::Error for_each_group(Place, int64_t count, int64_t, int64_t size, int64_t common, Body body) {
  std::vector<F> memory(common + size);
  for (int64_t item = 0; item < count; ++item) {
    body.prepare(item, memory.data(), 0, 1);
    body(item, memory.data(), memory.data() + common);
  }
  return ffi::Error::Success();
}

template <int threads, typename Body>
EITHER void each_thread(Body body) {
  for (int i = 0; i < threads; ++i) body(i);
}

#endif
