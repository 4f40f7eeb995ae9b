// What a lane pays for one record of about 200 bytes, at the pace of a program and as fast as it can.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "capture/file_recorder.h"
#include "test/capture/records.h"

namespace {

using namespace refrain::capture;

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

int main() {
  FileRecorderOptions options;
  options.file = "/tmp/refrain-record-bench." + std::to_string(::getpid()) + ".rfn";
  std::string error;
  auto recorder = open_file_recorder(options, &error);
  if (recorder == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  describe_program(*recorder);
  TestRecord record;
  const OperationView view = record.kernel({.buffers = {1, 2}, .scalars = {5}});
  std::printf("record of %zu bytes\n", view.bytes().size());
  for (const bool paced : {true, false}) {
    Stream& stream = recorder->open_stream(paced ? 1 : 2);
    constexpr int kBatch = 64;
    std::vector<double> costs;
    for (int batch = 0; batch < 20'000; ++batch) {
      const std::uint64_t begin = now_ns();
      for (int i = 0; i < kBatch; ++i) {
        stream.operation(view);
      }
      const std::uint64_t end = now_ns();
      costs.push_back(static_cast<double>(end - begin) / kBatch);
      stream.host_call("clFinish", end);
      while (paced && now_ns() < end + kBatch * 1000UL) {  // a driver call takes a microsecond or two
      }
    }
    std::sort(costs.begin(), costs.end());
    double sum = 0;
    for (const double cost : costs) {
      sum += cost;
    }
    std::printf("%s: median %.1f ns, mean %.1f ns, p99 %.1f ns per record\n",
                paced ? "one per microsecond" : "no pause", costs[costs.size() / 2],
                sum / static_cast<double>(costs.size()), costs[costs.size() * 99 / 100]);
  }
  recorder.reset();
  std::remove(options.file.c_str());
}
