// What the CUDA test programs share: a checked call, a checksum, JSON numbers of a set of times.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// Ends the process with the text of the call that failed.
#define CHECK_CUDA(call) ::gpu_test::check((call), #call, __FILE__, __LINE__)

namespace gpu_test {

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", file, line, call, cudaGetErrorName(status),
               cudaGetErrorString(status));
  // Not exit: other threads may be in the middle of calls.
  std::fflush(nullptr);
  std::_Exit(1);
}

/// FNV-1a over bytes.
class Checksum {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) hash_ = (hash_ ^ byte[i]) * 0x100000001b3u;
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size() * sizeof(T));
  }
  template <typename T>
  void add_device(const T* data, std::size_t count) {
    std::vector<T> host(count);
    CHECK_CUDA(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    add(host);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Options of the form `--name value` and `--name`; anything else ends the program with what there is.
class Arguments {
 public:
  Arguments(int argc, char** argv, const char* usage) : words_(argv + 1, argv + argc), usage_(usage) {}

  bool flag(const std::string& name) {
    const auto at = std::find(words_.begin(), words_.end(), "--" + name);
    if (at == words_.end()) return false;
    words_.erase(at);
    return true;
  }
  double number(const std::string& name, double otherwise) {
    const std::string text = take(name);
    if (text.empty()) return otherwise;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || value < 0) wrong();
    return value;
  }
  int integer(const std::string& name, int otherwise) { return static_cast<int>(number(name, otherwise)); }
  std::string text(const std::string& name, const std::string& otherwise) {
    std::string value = take(name);
    return value.empty() ? otherwise : value;
  }

  /// To be called last.
  void nothing_left() const {
    if (!words_.empty()) wrong();
  }

 private:
  std::string take(const std::string& name) {
    const auto at = std::find(words_.begin(), words_.end(), "--" + name);
    if (at == words_.end()) return "";
    if (at + 1 == words_.end()) wrong();
    std::string value = *(at + 1);
    words_.erase(at, at + 2);
    return value;
  }
  [[noreturn]] void wrong() const {
    std::fprintf(stderr, "usage: %s\n", usage_);
    std::exit(2);
  }

  std::vector<std::string> words_;
  const char* usage_;
};

}  // namespace gpu_test
