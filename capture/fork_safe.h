// What a forked child has of its parent's capture: nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "capture/recorder.h"

namespace refrain::capture {

/// For lanes opened in a forked child.
class NoStream final : public Stream {
 public:
  void operation(const OperationView&) noexcept override {}
  void host_call(const char*, std::uint64_t) noexcept override {}
  void region(const env::Region*) noexcept override {}
};

/// In a forked child the writer's thread does not exist and whatever it was doing stays half done: there
/// the recorder must not even be destroyed. `Writing` is a recorder that knows its process.
template <class Writing>
class ForkSafe final : public Recorder {
 public:
  explicit ForkSafe(std::unique_ptr<Writing> recorder) noexcept : recorder_(recorder.release()) {}
  ~ForkSafe() override {
    if (recorder_->own_process()) {
      delete recorder_;
    }
  }
  ForkSafe(const ForkSafe&) = delete;
  ForkSafe& operator=(const ForkSafe&) = delete;
  void define_all(const Definitions& definitions) noexcept override { recorder_->define_all(definitions); }
  std::uint16_t reason(const char* why) noexcept override { return recorder_->reason(why); }
  void code(const CodeInfo& info) noexcept override { recorder_->code(info); }
  void contents(ObjectId buffer, std::span<const std::byte> bytes) noexcept override {
    recorder_->contents(buffer, bytes);
  }
  void leave_out_contents(std::uint64_t bytes) noexcept override { recorder_->leave_out_contents(bytes); }
  [[nodiscard]] bool wants_contents() const noexcept override { return recorder_->wants_contents(); }
  Stream& open_stream(std::uint64_t lane) override {
    return recorder_->own_process() ? recorder_->open_stream(lane) : no_stream_;
  }
  [[nodiscard]] std::string file() const override { return recorder_->file(); }
  void flush() noexcept override { recorder_->flush(); }
  void finish() noexcept override {
    if (recorder_->own_process()) {
      recorder_->finish();
    }
  }

 private:
  Writing* recorder_;
  NoStream no_stream_;
};

}  // namespace refrain::capture
