#include "layer/common/captured_code.h"

#include <xxhash.h>

#include <atomic>
#include <utility>

#include "capture/format.h"
#include "env/log.h"
#include "layer/immortal.h"

namespace refrain::layer::common {

using capture::CodeId;
using capture::FunctionId;

CapturedCode& CapturedCode::all() noexcept {
  static Immortal<CapturedCode> code;
  return *code;
}

CodeId CapturedCode::add(capture::CodeKind kind, std::span<const std::byte> image) {
  const CodeId id = XXH3_64bits(image.data(), image.size());
  const env::MutexLock guard(mutex_);
  const auto [place, fresh] = images_.try_emplace(id);
  if (!fresh) {
    return id;
  }
  place->second.kind = kind;
  if (image.size() <= capture::format::kMaxCodeRecordBytes) {
    place->second.bytes.assign(image.begin(), image.end());
  } else {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      env::log_warning("capture: a code image of " + std::to_string(image.size() >> 20U) +
                       " MiB is too large to be stored; graphs with its kernels can be dumped but not benchmarked");
    }
  }
  return id;
}

FunctionId CapturedCode::tell(capture::Recorder& recorder, CodeId image, const std::string& name, FunctionId otherwise,
                              const std::string& options) {
  if (name.empty()) {
    image = 0;  // all kernels of it would look like one
  }
  Image taken;
  if (image != 0) {
    const env::MutexLock guard(mutex_);
    std::swap(taken.bytes, images_[image].bytes);
    taken.kind = images_[image].kind;
  }
  if (!taken.bytes.empty()) {
    recorder.code({image, taken.kind, taken.bytes});
  }
  FunctionId id = image == 0 ? otherwise : capture::mix(image, XXH3_64bits(name.data(), name.size()));
  if (image != 0 && !options.empty()) {
    id = capture::mix(id, XXH3_64bits(options.data(), options.size()));
  }
  recorder.define(capture::FunctionInfo{id, image, name, options});
  return id;
}

}  // namespace refrain::layer::common
