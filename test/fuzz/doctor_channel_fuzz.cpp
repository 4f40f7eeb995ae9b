// Any bytes as the name of the doctor's channel, and as what was written to it.
#include <cstdint>
#include <cstdlib>

#include "env/doctor_channel.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain::env;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto channel = parse_doctor_channel(text)) {
    // What it is told it can tell.
    const std::string again =
        std::to_string(channel->descriptor) + (channel->file ? ":" + channel->file->text() : std::string());
    const auto same = parse_doctor_channel(again);
    if (channel->descriptor < 0 || !same || same->descriptor != channel->descriptor || same->file != channel->file) {
      std::abort();
    }
  }
  for (const std::string& line : doctor_lines(text)) {
    for (const char c : line) {
      if (c < ' ' || c > '~') {
        std::abort();  // a terminal might obey it
      }
    }
  }
  return 0;
}
