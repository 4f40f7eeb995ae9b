// What the samples share, whatever API they use: a checksum, a stopwatch, and how a sample ends.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample {

inline unsigned divide_up(unsigned value, unsigned divisor) {
  return (value + divisor - 1) / divisor;
}

/// FNV-1a over bytes: two runs print the same checksum exactly when every bit of their results is equal.
class Checksum {
 public:
  template <typename T>
  void add(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) {
      hash_ = (hash_ ^ bytes[i]) * 0x100000001b3u;
    }
  }
  void print() const { std::printf("checksum %016llx\n", static_cast<unsigned long long>(hash_)); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

class Stopwatch {
 public:
  /// Goes to stderr: the results on stdout are the same in every run, the time is not.
  void print() const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    std::fprintf(stderr, "elapsed %.6f s\n", elapsed.count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Throws an error that names the call that failed.
[[noreturn]] inline void fail(const std::string& call, const std::string& name, const std::string& text) {
  throw std::runtime_error(call + " failed: " + name + " (" + text + ")");
}

/// Runs a sample and returns its exit status: 1, with one line that says why, if it threw.
inline int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return 1;
}

/// For a body that says whether all was right.
inline int run(const std::function<bool()>& body) {
  return guarded([&] { return body() ? 0 : 1; });
}

}  // namespace sample
