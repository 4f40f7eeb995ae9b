#include "layer/process.h"

#include <cstdio>
#include <memory>

#include "capture/file_recorder.h"
#include "env/log.h"

namespace refrain::layer {

std::string command_line() {
  std::string text;
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "re"); file != nullptr) {
    char part[4096];
    std::size_t bytes = 0;
    while (text.size() < sizeof(part) * 4 && (bytes = std::fread(part, 1, sizeof(part), file)) != 0) {
      text.append(part, bytes);
    }
    std::fclose(file);
  }
  while (!text.empty() && text.back() == '\0') {
    text.pop_back();
  }
  for (char& letter : text) {
    letter = letter == '\0' ? ' ' : letter;
  }
  return text;
}

capture::Recorder* open_recorder(const env::Settings& settings) {
  if (settings.mode != env::Mode::kCapture) {
    return nullptr;
  }
  capture::FileRecorderOptions options;
  options.file = env::expand_file_name(settings.capture_file);
  options.mode = env::permissions(settings.file_mode);
  options.contents = settings.portable;
  options.command = command_line();
  std::string error;
  std::unique_ptr<capture::Recorder> recorder = capture::open_file_recorder(options, &error);
  if (recorder == nullptr) {
    env::log_error(error + "; nothing is captured");
  }
  return recorder.release();
}

}  // namespace refrain::layer
