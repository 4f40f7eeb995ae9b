// The CUDA runtime API with exceptions and owners, as far as the samples need it.
#pragma once

#include <cuda_runtime.h>

#include "common.h"

/// A failed call ends the sample with its own text as the message.
#define CHECK_CUDA(call) ::sample::check((call), #call)

namespace sample {

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail(call, cudaGetErrorName(status), cudaGetErrorString(status));
}

/// Launches do not return a status; call this after each.
inline void check_launch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    fail(std::string("launch of ") + kernel, cudaGetErrorName(status), cudaGetErrorString(status));
  }
}

/// Memory on the device, or (PinnedArray) page-locked memory of the host.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { CHECK_CUDA(cudaMalloc(&data_, count * sizeof(T))); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  void upload(const std::vector<T>& values) {
    CHECK_CUDA(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
    // It may return when it has read the values, and streams like those below do not wait until they have arrived.
    CHECK_CUDA(cudaStreamSynchronize(nullptr));
  }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    CHECK_CUDA(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t count) : count_(count) { CHECK_CUDA(cudaMallocHost(&data_, count * sizeof(T))); }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

class Stream {
 public:
  Stream() { CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  void synchronize() const { CHECK_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Orders streams, does not measure.
class Event {
 public:
  Event() { CHECK_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A CUDA graph of what `submit` submits to `stream` (and to streams that wait for it), ready to be launched.
class CapturedGraph {
 public:
  CapturedGraph(cudaStream_t stream, const std::function<void()>& submit) {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    submit();
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable_, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaGraphUpload(executable_, stream));
  }
  ~CapturedGraph() { cudaGraphExecDestroy(executable_); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void launch(cudaStream_t stream) const { CHECK_CUDA(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// Adds --device and --graph.
inline void add_common_options(CLI::App& app, int& device, bool& graph) {
  app.add_option("--device", device, "Number of the CUDA device")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_flag("--graph", graph, "Submit through a CUDA graph written by hand");
}

/// Chooses the device, with a message of its own if there is none.
inline void use_device(int device) {
  int count = 0;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  if (device >= count) {
    throw std::runtime_error("there is no CUDA device " + std::to_string(device) + ", only " + std::to_string(count));
  }
  CHECK_CUDA(cudaSetDevice(device));
}

}  // namespace sample
