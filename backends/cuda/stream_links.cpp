#include "backends/cuda/stream_links.h"

#include <algorithm>

#include "backends/cuda/issue.h"

namespace refrain::backends {

namespace {

bool contains(std::span<CudaStream* const> streams, const CudaStream* stream) noexcept {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

}  // namespace

void StreamLinks::link(CudaStream& main, std::span<CudaStream* const> others) noexcept {
  const std::lock_guard guard(mutex_);
  for (CudaStream* other : others) {
    // Nothing is in the other stream but what came before the graph.
    order_.waits_for(main, StreamOrder::now(*other));
    if (other->behind == &main) {
      continue;
    }
    try {
      if (main.followers.empty()) {
        leaders_.push_back(&main);
      }
      main.followers.push_back(other);
    } catch (...) {
      join(main, *other);  // no memory for a link: the wait at once
      continue;
    }
    other->behind = &main;
    other->linked.store(true, std::memory_order_release);
    main.linked.store(true, std::memory_order_release);
    links_.fetch_add(1, std::memory_order_relaxed);
  }
}

/// The real wait. Should the driver refuse, the host waits: slow and right.
void StreamLinks::join(CudaStream& main, CudaStream& other) noexcept {
  const ContextScope scope(driver_, main.context);
  CUresult status = CUDA_SUCCESS;
  CudaEvent* event = events_.take(main.context, &status);
  if (event != nullptr) {
    status = driver_.cuEventRecord(event->handle, main.handle);
    if (status == CUDA_SUCCESS) {
      status = driver_.cuStreamWaitEvent(other.handle, event->handle, 0);
    }
    events_.release(*event);
  }
  if (status != CUDA_SUCCESS) {
    driver_.cuStreamSynchronize(main.handle);
  }
  StreamOrder::submitted(other);
  order_.waits_for(main, StreamOrder::now(other));
  order_.waits_for(other, StreamOrder::now(main));
}

void StreamLinks::unlink(CudaStream& main, CudaStream& other) noexcept {
  other.behind = nullptr;
  other.linked.store(!other.followers.empty(), std::memory_order_release);
  std::erase(main.followers, &other);
  if (main.followers.empty()) {
    std::erase(leaders_, &main);
    main.linked.store(main.behind != nullptr, std::memory_order_release);
  }
  links_.fetch_sub(1, std::memory_order_relaxed);
}

void StreamLinks::settle_linked(CudaStream& stream) noexcept {
  const std::lock_guard guard(mutex_);
  if (CudaStream* main = stream.behind; main != nullptr) {
    join(*main, stream);
    unlink(*main, stream);
  }
  while (!stream.followers.empty()) {
    CudaStream& other = *stream.followers.back();
    join(stream, other);
    unlink(stream, other);
  }
}

void StreamLinks::settle_for(CudaStream& main, std::span<CudaStream* const> others) noexcept {
  if (!any()) {
    return;
  }
  const std::lock_guard guard(mutex_);
  if (CudaStream* before = main.behind; before != nullptr) {
    join(*before, main);
    unlink(*before, main);
  }
  // Who is linked to this stream and has no part in the graph would wait for it.
  for (std::size_t i = main.followers.size(); i > 0; --i) {
    CudaStream& other = *main.followers[i - 1];
    if (!contains(others, &other)) {
      join(main, other);
      unlink(main, other);
    }
  }
  for (CudaStream* other : others) {
    if (CudaStream* before = other->behind; before != nullptr && before != &main) {
      join(*before, *other);
      unlink(*before, *other);
    }
  }
}

void StreamLinks::settle_every_link() noexcept {
  const std::lock_guard guard(mutex_);
  while (!leaders_.empty()) {
    CudaStream& main = *leaders_.back();
    CudaStream& other = *main.followers.back();
    join(main, other);
    unlink(main, other);
  }
}

CudaStream& StreamLinks::recording_place(CudaStream& stream) noexcept {
  if (!stream.linked.load(std::memory_order_acquire)) {
    return stream;
  }
  const std::lock_guard guard(mutex_);
  return stream.behind != nullptr ? *stream.behind : stream;
}

void StreamLinks::forget(CudaStream& stream) noexcept {
  const std::lock_guard guard(mutex_);
  if (stream.behind != nullptr) {
    unlink(*stream.behind, stream);
  }
  while (!stream.followers.empty()) {
    unlink(stream, *stream.followers.back());
  }
}

}  // namespace refrain::backends
