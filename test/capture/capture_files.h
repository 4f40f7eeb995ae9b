// What the tests of capture files share: a program that is recorded, and the file as bytes.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/file_recorder.h"
#include "capture/reader.h"
#include "test/capture/records.h"

namespace refrain::capture {

inline std::unique_ptr<Recorder> open(const std::string& file, bool contents = false, std::uint64_t timed_calls = 0) {
  FileRecorderOptions options;
  options.file = file;
  options.contents = contents;
  options.timed_calls = timed_calls;
  options.command = "./heat 512";
  std::string error;
  auto recorder = open_file_recorder(options, &error);
  INFO(error);
  REQUIRE(recorder != nullptr);
  return recorder;
}

inline Capture load(const std::string& file) {
  std::string error;
  auto capture = read_capture(file, &error);
  INFO(error);
  REQUIRE(capture.has_value());
  return std::move(*capture);
}

inline std::uint64_t submissions(const Capture& capture) {
  std::uint64_t count = 0;
  for (const LaneHistory& lane : capture.lanes) {
    for_each_leaf(lane, [&](const HistoryItem& item) { count += item.total * capture.graphs[item.graph].size(); });
  }
  return count;
}

// A heat solver: ping-pong buffers, a step number that counts, a blocking read every 10 steps.
inline void heat(Stream& stream, std::uint64_t steps, std::int32_t first_step = 0) {
  TestRecord record;
  std::uint64_t sequence = 0, time = 1000;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const ObjectId from = 1 + i % 2;
    stream.operation(record.kernel({.function = 1,
                                    .buffers = {from, 3 - from},
                                    .scalars = {first_step + static_cast<std::int32_t>(i)},
                                    .sequence = ++sequence,
                                    .time_ns = time += 2000,
                                    .host_ns = 1500}));
    if (i % 10 == 9) {
      stream.operation(record.kernel(
          {.function = 2, .buffers = {1, 3}, .sequence = ++sequence, .time_ns = time += 2000, .host_ns = 1000}));
      stream.host_call("clEnqueueReadBuffer", time += 500);
    }
  }
}

inline std::vector<char> bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::string& file, const std::vector<char>& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace refrain::capture
