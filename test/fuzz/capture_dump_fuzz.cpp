// Any bytes as a capture file, shown in every form: JSON is JSON, dot is dot, and nothing is in the way of a terminal.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "capture/dump.h"
#include "env/escape.h"
#include "replay/forecast/forecast.h"
#include "test/fuzz/capture_input.h"

namespace {

using namespace refrain::capture;

struct Text {
  Text() : stream(::open_memstream(&bytes, &size)) {}
  ~Text() {
    std::fclose(stream);
    std::free(bytes);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  std::string_view view() {
    std::fflush(stream);
    return {bytes, size};
  }
  char* bytes = nullptr;
  std::size_t size = 0;
  std::FILE* stream;
};

void check_lines(std::string_view text, bool quotes_in_pairs) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (refrain::env::escaped(line) != line) {
      std::abort();
    }
    std::size_t quotes = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      i += line[i] == '\\' ? 1 : 0;
      quotes += i < line.size() && line[i] == '"' ? 1 : 0;
    }
    if (quotes_in_pairs && quotes % 2 != 0) {
      std::abort();
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

void show(const std::string& file, DumpFormat format, std::optional<std::uint32_t> graph = {}) {
  Text out, err;
  const int status = run_dump({file, format, graph, 0, refrain::replay::forecast}, out.stream, err.stream);
  check_lines(out.view(), format == DumpFormat::kDot && status == 0);
  check_lines(err.view(), false);
  if (status != 0 && err.view().empty()) {
    std::abort();  // a refusal says why
  }
  const bool json = format == DumpFormat::kJson || format == DumpFormat::kTrace;
  if (json && status == 0 && !nlohmann::json::accept(out.view())) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refrain::test::with_both(data, size, [](const std::string& file) {
    for (const auto format : {DumpFormat::kSummary, DumpFormat::kJson, DumpFormat::kCsv, DumpFormat::kDot,
                              DumpFormat::kTrace, DumpFormat::kExplain}) {
      show(file, format);
    }
    show(file, DumpFormat::kGraph, 0);
    show(file, DumpFormat::kDot, 0);
  });
  return 0;
}
