// OpenCL and Level Zero: waits and events stand in the call.
#include <fmt/format.h>

#include "test/property/source.h"

namespace property {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

/// What both say in the same way: each call is a name, what it is given, and a list.
class ListSyntax : public Syntax {
 public:
  explicit ListSyntax(bool opencl) : opencl_(opencl) {}
  [[nodiscard]] bool has_lists() const override { return true; }

  [[nodiscard]] std::string queue(const std::string& name, portable::QueueKind kind) const override {
    const bool unordered = kind == portable::QueueKind::kOutOfOrder;
    return opencl_
               ? fmt::format("cl_command_queue {} = clCreateCommandQueue(context, device, {}, nullptr);", name,
                             unordered ? "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE" : "0")
               : fmt::format("ze_command_list_handle_t {0}; zeCommandListCreateImmediate(context, device, {1}, &{0});",
                             name, unordered ? "&unordered" : "&in_order");
  }
  [[nodiscard]] std::string memory(const std::string& name, portable::Place place) const override {
    const bool pinned = place == portable::Place::kPinned;
    if (opencl_) {
      return pinned ? fmt::format("cl_uint* {} = clSVMAlloc(context, CL_MEM_SVM_FINE_GRAIN_BUFFER, 256, 0);", name)
                    : fmt::format("cl_mem {} = clCreateBuffer(context, 0, 256, nullptr, nullptr);", name);
    }
    return pinned ? fmt::format("void* {0}; zeMemAllocHost(context, &host, 256, 4, &{0});", name)
                  : fmt::format("void* {0}; zeMemAllocDevice(context, &plain, 256, 4, device, &{0});", name);
  }
  [[nodiscard]] std::string event(const std::string& name) const override {
    return opencl_ ? fmt::format("cl_event {} = nullptr;", name)
                   : fmt::format("ze_event_handle_t {0}; zeEventCreate(pool, &next, &{0});", name);
  }
  [[nodiscard]] std::string wait(const std::string& queue, const std::string& event) const override {
    return opencl_ ? fmt::format("clEnqueueBarrierWithWaitList({}, 1, &{}, nullptr);", queue, event)
                   : fmt::format("zeCommandListAppendWaitOnEvents({}, 1, &{});", queue, event);
  }
  [[nodiscard]] std::string host_wait(const std::string& event) const override {
    return opencl_ ? fmt::format("clWaitForEvents(1, &{});", event)
                   : fmt::format("zeEventHostSynchronize({}, UINT64_MAX);", event);
  }
  [[nodiscard]] std::string record(const std::string& queue, const std::string& event) const override {
    return opencl_ ? fmt::format("clEnqueueMarkerWithWaitList({}, 0, nullptr, &{});", queue, event)
                   : fmt::format("zeCommandListAppendSignalEvent({}, {});", queue, event);
  }

  [[nodiscard]] std::string call(const Step& step, const Names& n) const override {
    const std::size_t bytes = std::size_t{4} * step.words;
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
      case Kind::kCopy: return copy(n, offset, "4 * " + n.words);
      case Kind::kRectangle:
        return append("clEnqueueCopyBufferRect", "zeCommandListAppendMemoryCopyRegion", n,
                      fmt::format("/* 3 rows of 8 bytes: to {} + 32 + 4 * ({} % 3), pitch 16; from {} + 4, pitch 32 */",
                                  n.to, n.value, n.from));
      case Kind::kFill:
        return append(n.to_pinned ? "clEnqueueSVMMemFill" : "clEnqueueFillBuffer", "zeCommandListAppendMemoryFill", n,
                      fmt::format("{}, pattern({}), {}, {}, {}", n.to, n.value, step.pattern, offset,
                                  bytes / step.pattern * step.pattern));
      case Kind::kWrite:
        return append("clEnqueueWriteBuffer", "zeCommandListAppendMemoryCopy", n,
                      fmt::format("{}, pageable({}), 128{}", n.to, n.value, opencl_ ? ", CL_TRUE" : "")) +
               " scribble();";
      case Kind::kRead:
        return append("clEnqueueReadBuffer", "zeCommandListAppendMemoryCopy", n,
                      fmt::format("pageable(), {}, 256{}", n.from, opencl_ ? ", CL_TRUE" : "")) +
               (opencl_ ? " look();" : fmt::format(" zeCommandListHostSynchronize({}, UINT64_MAX); look();", n.queue));
      case Kind::kHostFunction:
        return append("clEnqueueNativeKernel", "zeCommandListAppendHostFunction", n, "change_third_word, " + n.to);
      case Kind::kPrefetch:
        return append("clEnqueueMigrateMemObjects", "zeCommandListAppendMemoryPrefetch", n, n.to + ", 256");
      case Kind::kGraph:
        return append("clEnqueueCommandBufferKHR", "zeCommandListAppendGraphExt", n, fmt::format("g{}", step.value));
      case Kind::kBarrier:
        return opencl_ ? fmt::format("clEnqueueBarrierWithWaitList({}, 0, nullptr, nullptr);", n.queue)
                       : fmt::format("zeCommandListAppendBarrier({}, nullptr, 0, nullptr);", n.queue);
      case Kind::kFlush: return opencl_ ? fmt::format("clFlush({});", n.queue) : "";
      case Kind::kLook: return fmt::format("look({});", n.to);
      case Kind::kScribble: return fmt::format("scribble({}, {});", n.to, n.value);
      case Kind::kAskEvent: return n.event.empty() ? "" : ask(n.event);
      case Kind::kPoll: return n.event.empty() ? "" : fmt::format("while (!done({})) {{}}", n.event);
      case Kind::kWaitEvent: return n.event.empty() ? "" : host_wait(n.event);
      case Kind::kWaitQueue:
        return opencl_ ? fmt::format("clFinish({});", n.queue)
                       : fmt::format("zeCommandListHostSynchronize({}, UINT64_MAX);", n.queue);
      case Kind::kWaitDevice:
        return opencl_ ? "for (auto q : queues) clFinish(q);"
                       : "for (auto q : queues) zeCommandListHostSynchronize(q, UINT64_MAX);";
      case Kind::kAskSomething:
        return opencl_ ? "clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, 4, &units, nullptr);"
                       : "zeDeviceGetProperties(device, &properties);";
      case Kind::kSeen: return fmt::format("seen({}, {}, {});", n.queue, n.to, n.value);
      case Kind::kSet: return fmt::format("set({}, {});", n.queue, n.value);
      case Kind::kRefused: return fmt::format("refused({}, {}, {});", n.queue, n.to, step.value);
      case Kind::kReplaceMemory:
        return opencl_ ? fmt::format(
                             "clReleaseMemObject({0}); {0} = clCreateBuffer(context, 0, 256, nullptr, nullptr); "
                             "write_words({0}, {1});",
                             n.to, n.value)
                       : fmt::format(
                             "zeMemFree(context, {0}); zeMemAllocDevice(context, &plain, 256, 4, device, &{0}); "
                             "write_words({0}, {1});",
                             n.to, n.value);
      case Kind::kReplaceInOrder:
        return fmt::format(
            "clEnqueueSVMFree({0}, 1, &{1}, nullptr, nullptr, 0, nullptr, nullptr); {1} = "
            "clSVMAlloc(context, 0, 256, 0); write_words({1}, {2});",
            n.queue, n.to, n.value);
      case Kind::kReplaceQueue:
        return opencl_
                   ? fmt::format("clReleaseCommandQueue({0}); {0} = clCreateCommandQueue(context, device, 0, nullptr);",
                                 n.queue)
                   : fmt::format(
                         "zeCommandListDestroy({0}); zeCommandListCreateImmediate(context, device, &in_order, &{0});",
                         n.queue);
      case Kind::kReplaceEvent:
        return n.event.empty() ? ""
                               : host_wait(n.event) + (opencl_ ? " clReleaseEvent(" : " zeEventDestroy(") + n.event +
                                     "); /* and a new one */";
      case Kind::kPause: return fmt::format("usleep({});", 300 + 60 * step.value);
      default: return "";
    }
  }

 private:
  [[nodiscard]] std::string order(const Names& n) const {
    const std::string event = n.event.empty() ? "nullptr" : (opencl_ ? "&" : "") + n.event;
    const std::string waits = n.waits.empty() ? "nullptr" : "list{" + list_of(n.waits) + "}";
    return opencl_ ? fmt::format("{}, {}, {}", n.waits.size(), waits, event)
                   : fmt::format("{}, {}, {}", event, n.waits.size(), waits);
  }
  [[nodiscard]] std::string append(const char* opencl, const char* level_zero, const Names& n,
                                   const std::string& arguments) const {
    return fmt::format("{}({}, {}, {});", opencl_ ? opencl : level_zero, n.queue, arguments, order(n));
  }
  [[nodiscard]] std::string launch(const char* kernel, const Names& n, const std::string& threads,
                                   const std::string& arguments) const {
    return fmt::format("set_arguments({}, {}); ", kernel, arguments) +
           append("clEnqueueNDRangeKernel", "zeCommandListAppendLaunchKernel", n,
                  opencl_ ? fmt::format("{}, 1, nullptr, size({}), nullptr", kernel, threads)
                          : fmt::format("{}, groups({})", kernel, threads));
  }
  [[nodiscard]] std::string copy(const Names& n, std::size_t offset, const std::string& bytes) const {
    const char* name = n.to_pinned ? (n.from_pinned ? "clEnqueueSVMMemcpy" : "clEnqueueReadBuffer")
                                   : (n.from_pinned ? "clEnqueueWriteBuffer" : "clEnqueueCopyBuffer");
    return append(name, "zeCommandListAppendMemoryCopy", n,
                  fmt::format("{} + {} /* bytes */, {}, {}", n.to, offset, n.from, bytes));
  }
  [[nodiscard]] std::string ask(const std::string& event) const {
    return opencl_ ? fmt::format("clGetEventInfo({}, CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &state, nullptr);", event)
                   : fmt::format("zeEventQueryStatus({});", event);
  }

  bool opencl_;
};

}  // namespace

std::unique_ptr<Syntax> list_syntax(const std::string& api) {
  return api == "opencl" || api == "level_zero" ? std::make_unique<ListSyntax>(api == "opencl") : nullptr;
}

}  // namespace property
