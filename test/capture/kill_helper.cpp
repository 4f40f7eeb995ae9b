// Submits endlessly until killed, from two lanes, and tells on stdout what it has flushed:
// capture_kill_helper FILE SEED. A line "1 N" says: lane 1 has flushed N submissions.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "capture/file_recorder.h"
#include "test/capture/records.h"

namespace {

using namespace refrain::capture;

std::mutex told;

void submit(Recorder& recorder, std::uint64_t lane, unsigned seed) {
  std::mt19937 random(seed);
  Stream& stream = recorder.open_stream(lane);
  TestRecord record;
  const char* const calls[] = {"clFinish", "clWaitForEvents", "clEnqueueReadBuffer"};
  std::uint64_t sequence = 0;
  for (;;) {
    const auto length = 1 + random() % 8;
    for (unsigned i = 0; i < length; ++i) {
      ++sequence;
      // The scalar is the number of the submission: whatever is read can be checked.
      stream.operation(record.kernel({.function = 1 + i % 3,
                                      .queue = lane,
                                      .buffers = {1, 2},
                                      .scalars = {static_cast<std::int32_t>(sequence)},
                                      .sequence = sequence,
                                      .time_ns = 1000 * sequence}));
    }
    if (random() % 4 != 0) {
      stream.host_call(calls[random() % 3], 1000 * sequence);
    }
    if (random() % 500 == 0) {
      recorder.flush();
      char line[64];
      const int size = std::snprintf(line, sizeof(line), "%llu %llu\n", static_cast<unsigned long long>(lane),
                                     static_cast<unsigned long long>(sequence));
      const std::lock_guard lock(told);
      if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) {
        std::_Exit(1);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: capture_kill_helper FILE SEED\n");
    return 2;
  }
  FileRecorderOptions options;
  options.file = argv[1];
  options.flush_interval = std::chrono::milliseconds(2);
  std::string error;
  const auto recorder = open_file_recorder(options, &error);
  if (recorder == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  describe_program(*recorder);
  const auto seed = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  std::thread other([&] { submit(*recorder, 2, seed + 1); });
  submit(*recorder, 1, seed);
}
