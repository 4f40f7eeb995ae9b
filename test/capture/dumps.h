// What the tests of dumps share: captures of small programs, and what `refrain dump` says of them.
#pragma once

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "capture/dump.h"
#include "capture/file_recorder.h"
#include "replay/forecast/forecast.h"
#include "test/capture/records.h"

namespace refrain::capture {

/// What `refrain dump` said.
struct Output {
  int status = 0;
  std::string out, err;
};

inline Output dump(const DumpOptions& options) {
  char *out = nullptr, *err = nullptr;
  std::size_t out_size = 0, err_size = 0;
  std::FILE* out_stream = ::open_memstream(&out, &out_size);
  std::FILE* err_stream = ::open_memstream(&err, &err_size);
  Output result;
  result.status = run_dump(options, out_stream, err_stream);
  std::fclose(out_stream);
  std::fclose(err_stream);
  result.out.assign(out, out_size);
  result.err.assign(err, err_size);
  std::free(out);
  std::free(err);
  return result;
}

inline Output dump(const std::string& file, DumpFormat format, std::optional<std::uint32_t> graph = {}) {
  return dump(DumpOptions{file, format, graph, 0, replay::forecast});
}

inline void record_to(const std::string& file, const std::function<void(Recorder&, Stream&)>& program) {
  FileRecorderOptions options;
  options.file = file;
  options.command = "./heat \"512\"";
  std::string error;
  const auto recorder = open_file_recorder(options, &error);
  INFO(error);
  REQUIRE(recorder != nullptr);
  describe_program(*recorder);
  program(*recorder, recorder->open_stream(1));
}

}  // namespace refrain::capture
