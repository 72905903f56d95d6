// Items of work that the threads of XLA's pool share.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "xla/ffi/api/ffi.h"

// Calls work(item) for item = 0 .. count - 1. The caller works as well and waits only for items that
// a thread of the pool has begun, so that a pool without a free thread does not stop it.
template <typename Work>
void for_each_item(xla::ffi::ThreadPool& pool, int64_t count, const Work& work) {
  struct Shared {
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable all_done;
    int64_t done = 0;
  };
  auto shared = std::make_shared<Shared>();
  auto take = [shared, count, &work] {
    int64_t own = 0;
    for (int64_t item; (item = shared->next.fetch_add(1)) < count; ++own) work(item);
    if (!own) return;
    std::lock_guard<std::mutex> lock(shared->mutex);
    shared->done += own;
    if (shared->done == count) shared->all_done.notify_all();
  };
  const int64_t helpers = std::min(pool.num_threads(), count) - 1;
  for (int64_t k = 0; k < helpers; ++k) pool.Schedule(decltype(take)(take));
  take();
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->all_done.wait(lock, [&] { return shared->done == count; });
}
