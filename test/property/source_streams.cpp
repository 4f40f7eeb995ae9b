// CUDA's driver API and HIP, which say the same in other words.
#include <fmt/format.h>

#include "test/property/source.h"

namespace property {
namespace {

class StreamSyntax : public Syntax {
 public:
  explicit StreamSyntax(bool hip) : hip_(hip) {}

  [[nodiscard]] std::string queue(const std::string& name, portable::QueueKind kind) const override {
    const char* type = hip_ ? "hipStream_t" : "CUstream";
    if (kind == portable::QueueKind::kDefault) {
      return fmt::format("{} {} = nullptr;", type, name);
    }
    if (kind == portable::QueueKind::kThreadsOwn) {
      return fmt::format("{} {} = {};", type, name, hip_ ? "hipStreamPerThread" : "CU_STREAM_PER_THREAD");
    }
    const bool blocking = kind == portable::QueueKind::kBlocking;
    return fmt::format("{} {}; {}(&{}, {});", type, name, hip_ ? "hipStreamCreateWithFlags" : "cuStreamCreate", name,
                       hip_ ? (blocking ? "hipStreamDefault" : "hipStreamNonBlocking")
                            : (blocking ? "CU_STREAM_DEFAULT" : "CU_STREAM_NON_BLOCKING"));
  }
  [[nodiscard]] std::string memory(const std::string& name, portable::Place place) const override {
    const bool pinned = place == portable::Place::kPinned;
    if (hip_) {
      return pinned ? fmt::format("Word* {0}; hipHostMalloc(&{0}, 256, 0);", name)
                    : fmt::format("Word* {0}; hipMalloc(&{0}, 256);", name);
    }
    return pinned ? fmt::format("Word* {0}; cuMemHostAlloc(&{0}, 256, 0);", name)
                  : fmt::format("CUdeviceptr {0}; cuMemAlloc(&{0}, 256);", name);
  }
  [[nodiscard]] std::string event(const std::string& name) const override {
    return hip_ ? fmt::format("hipEvent_t {0}; hipEventCreateWithFlags(&{0}, hipEventDisableTiming);", name)
                : fmt::format("CUevent {0}; cuEventCreate(&{0}, CU_EVENT_DISABLE_TIMING);", name);
  }
  [[nodiscard]] bool has_lists() const override { return false; }
  [[nodiscard]] std::string wait(const std::string& queue, const std::string& event) const override {
    return fmt::format("{}StreamWaitEvent({}, {}, 0);", prefix(), queue, event);
  }
  [[nodiscard]] std::string host_wait(const std::string& event) const override {
    return fmt::format("{}EventSynchronize({});", prefix(), event);
  }
  [[nodiscard]] std::string record(const std::string& queue, const std::string& event) const override {
    return fmt::format("{}EventRecord({}, {});", prefix(), event, queue);
  }

  [[nodiscard]] std::string call(const Step& step, const Names& n) const override {
    const std::string p = prefix();
    const std::string bytes = "4 * " + n.words;
    const std::size_t offset = std::size_t{4} * step.offset;
    switch (step.kind) {
      case Kind::kScale: return launch("scale", n, "64", fmt::format("{0}, 64u, 2 * {1} + 1, {1}", n.to, n.value));
      case Kind::kMix: return launch("mix_in", n, "64", fmt::format("{}, {}, 64u, {}", n.to, n.from, n.value));
      case Kind::kOdd:
        return launch("odd", n, fmt::format("({} + 3) / 4 * 4", n.words),
                      fmt::format("(char){1}, {0}, (short)({1} * 3), {1}ull << 33", n.to, n.value));
      case Kind::kWide: return launch("wide", n, "64", fmt::format("words_from({1}), {0}", n.to, n.value));
      case Kind::kStore: return launch("store", n, "1", fmt::format("{}, {}", n.to, n.value));
      case Kind::kBusy: return launch("busy", n, "1", fmt::format("{}, {} % 40", n.to, n.value));
      case Kind::kCopy:
        return hip_ ? fmt::format("hipMemcpyAsync({}, {}, {}, hipMemcpyDefault, {});", at(n.to, offset), n.from, bytes,
                                  n.queue)
                    : fmt::format("cuMemcpy{}Async({}, {}, {}, {});",
                                  n.to_pinned ? (n.from_pinned ? "" : "DtoH") : (n.from_pinned ? "HtoD" : "DtoD"),
                                  at(n.to, offset), n.from, bytes, n.queue);
      case Kind::kRectangle:
        return fmt::format(
            "{}Memcpy2DAsync(/* 3 rows of 8 bytes: to {} + {} + 4 * ({} % 3), pitch 16; from {} + 4, pitch 32 */, {});",
            p, n.to, 32, n.value, n.from, n.queue);
      case Kind::kFill: return fill(step, n);
      case Kind::kWrite:
        return hip_ ? fmt::format("hipMemcpyAsync({}, pageable({}), 128, hipMemcpyHostToDevice, {}); scribble();", n.to,
                                  n.value, n.queue)
                    : fmt::format("cuMemcpyHtoDAsync({}, pageable({}), 128, {}); scribble();", n.to, n.value, n.queue);
      case Kind::kRead:
        return (hip_ ? fmt::format("hipMemcpyAsync(pageable(), {}, 256, hipMemcpyDeviceToHost, {}); ", n.from, n.queue)
                     : fmt::format("cuMemcpyDtoHAsync(pageable(), {}, 256, {}); ", n.from, n.queue)) +
               fmt::format("{}StreamSynchronize({}); look();", p, n.queue);
      case Kind::kHostFunction: return fmt::format("{}LaunchHostFunc({}, change_third_word, {});", p, n.queue, n.to);
      case Kind::kWriteValue:
        return fmt::format("{}StreamWriteValue32({}, {} + 20, {}, 0);", p, n.queue, n.to, n.value);
      case Kind::kPrefetch: return fmt::format("{}MemPrefetchAsync({}, 256, device, {});", p, n.to, n.queue);
      case Kind::kGraph: return fmt::format("{}GraphLaunch(g{}, {});", p, step.value, n.queue);
      case Kind::kLook: return fmt::format("look({});", n.to);
      case Kind::kScribble: return fmt::format("scribble({}, {});", n.to, n.value);
      case Kind::kAskEvent: return n.event.empty() ? "" : fmt::format("{}EventQuery({});", p, n.event);
      case Kind::kPoll: return n.event.empty() ? "" : fmt::format("while ({}EventQuery({}) != 0) {{}}", p, n.event);
      case Kind::kWaitEvent: return n.event.empty() ? "" : host_wait(n.event);
      case Kind::kAskQueue: return fmt::format("{}StreamQuery({});", p, n.queue);
      case Kind::kWaitQueue: return fmt::format("{}StreamSynchronize({});", p, n.queue);
      case Kind::kWaitDevice: return hip_ ? "hipDeviceSynchronize();" : "cuCtxSynchronize();";
      case Kind::kAskSomething: return hip_ ? "hipGetDevice(&device);" : "cuCtxGetDevice(&device);";
      case Kind::kSeen: return fmt::format("seen({}, {}, {}, {});", n.queue, n.to, n.value, n.version);
      case Kind::kSet: return fmt::format("set({}, {});", n.queue, n.value);
      case Kind::kRefused: return fmt::format("refused({}, {}, {});", n.queue, n.to, step.value);
      case Kind::kReplaceMemory:
        return fmt::format("{0}MemFree({1}); {0}MemAlloc(&{1}, 256); write_words({1}, {2});", p, n.to, n.value);
      case Kind::kReplaceInOrder:
        return fmt::format(
            "{0}MemFreeAsync({1}, {3}); {0}MemAllocAsync(&{1}, 256 or 512, {3}); "
            "write_words_or_fill({1}, {2});",
            p, n.to, n.value, n.queue);
      case Kind::kTemporary:
        return fmt::format(
            "{0}MemAllocAsync(&own, 256 or 512, {4}); copy({4}, own, {2}); scale({4}, own, {3}); "
            "copy({4}, {1}, own); {0}MemFreeAsync(own, {4});",
            p, n.to, n.from, n.value, n.queue);
      case Kind::kReplaceQueue: return fmt::format("{0}StreamDestroy({1}); {0}StreamCreate(&{1});", p, n.queue);
      case Kind::kReplaceEvent:
        return n.event.empty() ? ""
                               : fmt::format("{0}EventSynchronize({1}); {0}EventDestroy({1}); {0}EventCreate(&{1}, 2);",
                                             p, n.event);
      case Kind::kPause: return fmt::format("usleep({});", 300 + 60 * step.value);
      default: return "";  // what does not exist, or is only an event
    }
  }

 private:
  [[nodiscard]] std::string prefix() const { return hip_ ? "hip" : "cu"; }
  static std::string at(const std::string& memory, std::size_t offset) {
    return offset == 0 ? memory : fmt::format("{} + {} /* bytes */", memory, offset);
  }
  [[nodiscard]] std::string launch(const char* kernel, const Names& n, const std::string& threads,
                                   const std::string& arguments) const {
    const std::string block = threads == "1" ? "1" : "4";
    return fmt::format("{}({}, {} / {}, 1, 1, {}, 1, 1, 0, {}, arguments({}), nullptr);",
                       hip_ ? "hipModuleLaunchKernel" : "cuLaunchKernel", kernel, threads, block, block, n.queue,
                       arguments);
  }
  [[nodiscard]] std::string fill(const Step& step, const Names& n) const {
    const std::size_t count = std::size_t{4} * step.words / step.pattern;
    const std::string to = at(n.to, std::size_t{4} * step.offset);
    if (step.pattern > 4) {
      return fmt::format("{}Memset2DAsync(/* {} patterns of {} bytes at {}, from {} */, {});", prefix(), count,
                         step.pattern, to, n.value, n.queue);
    }
    return fmt::format("{}MemsetD{}Async({}, pattern({}), {}, {});", prefix(), 8 * step.pattern, to, n.value, count,
                       n.queue);
  }

  bool hip_;
};

}  // namespace

std::unique_ptr<Syntax> stream_syntax(const std::string& api) {
  return api == "cuda" || api == "hip" ? std::make_unique<StreamSyntax>(api == "hip") : nullptr;
}

}  // namespace property
