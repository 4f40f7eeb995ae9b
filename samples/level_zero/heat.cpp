// Heat in a square plate with Level Zero: two buffers that swap roles, and a residual every few steps. Each launch goes
// to an immediate command list, or with --regular a stretch of them is recorded once and executed again and again.
#include <level_zero/ze_api.h>

#include <array>
#include <fstream>
#include <iterator>

#include "heat_plate.h"

#define CHECK_ZE(call) check((call), #call)

namespace {

/// ZE_COMMAND_QUEUE_FLAG_IN_ORDER and ZE_COMMAND_LIST_FLAG_IN_ORDER, which came with version 1.6.
constexpr ze_command_queue_flags_t kQueueInOrder = 1U << 1U;
constexpr ze_command_list_flags_t kListInOrder = 1U << 3U;
constexpr std::uint64_t kForEver = ~std::uint64_t{0};

struct Options : heat::Options {
  std::string module = "heat_kernels.spv";
  bool native = false;
  bool regular = false;
};

void check(ze_result_t status, const char* call) {
  if (status != ZE_RESULT_SUCCESS) {
    char code[16];
    std::snprintf(code, sizeof(code), "0x%x", static_cast<unsigned>(status));
    sample::fail(call, code, "see ze_result_t");
  }
}

std::vector<std::uint8_t> read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) {
    throw std::runtime_error("can't read " + name + " (heat_kernels.cl says how to make it; --module names another)");
  }
  return bytes;
}

template <class Value>
void set(ze_kernel_handle_t kernel, std::uint32_t index, const Value& value) {
  CHECK_ZE(zeKernelSetArgumentValue(kernel, index, sizeof(value), &value));
}

class Solver {
 public:
  explicit Solver(const Options& options) : options_(options), cells_(options.size * options.size) {
    const std::size_t bytes = static_cast<std::size_t>(cells_) * sizeof(float);
    CHECK_ZE(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    std::uint32_t count = 1;
    ze_driver_handle_t driver = nullptr;
    CHECK_ZE(zeDriverGet(&count, &driver));
    count = static_cast<std::uint32_t>(options.device) + 1;
    std::vector<ze_device_handle_t> devices(count);
    CHECK_ZE(zeDeviceGet(driver, &count, devices.data()));
    if (count <= static_cast<std::uint32_t>(options.device)) throw std::runtime_error("there is no such device");
    device_ = devices[static_cast<std::size_t>(options.device)];
    const ze_context_desc_t context{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    CHECK_ZE(zeContextCreate(driver, &context, &context_));
    make_kernels();
    now_ = device_memory(bytes);
    next_ = device_memory(bytes);
    sums_ = device_memory(heat::kGroups * sizeof(float));
    const ze_host_mem_alloc_desc_t host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* memory = nullptr;
    CHECK_ZE(zeMemAllocHost(context_, &host, bytes, 64, &memory));
    host_ = static_cast<float*>(memory);

    ze_event_pool_desc_t pool{};
    pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool.count = 1;
    CHECK_ZE(zeEventPoolCreate(context_, &pool, 1, &device_, &pool_));
    ze_event_desc_t event{};
    event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    CHECK_ZE(zeEventCreate(pool_, &event, &done_));
    ze_command_queue_desc_t queue{};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    if (options.regular) CHECK_ZE(zeCommandQueueCreate(context_, device_, &queue, &queue_));
    queue.flags = kQueueInOrder;
    CHECK_ZE(zeCommandListCreateImmediate(context_, device_, &queue, &immediate_));
  }

  ~Solver() {
    for (ze_command_list_handle_t list : lists_) zeCommandListDestroy(list);
    if (fence_ != nullptr) zeFenceDestroy(fence_);
    zeCommandListDestroy(immediate_);
    if (queue_ != nullptr) zeCommandQueueDestroy(queue_);
    zeEventDestroy(done_);
    zeEventPoolDestroy(pool_);
    zeKernelDestroy(step_);
    zeKernelDestroy(sum_);
    zeModuleDestroy(module_);
    for (float* memory : {now_, next_, sums_, host_}) zeMemFree(context_, memory);
    zeContextDestroy(context_);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  bool solve() {
    std::vector<float> plate = heat::exact_plate(options_.size, 0);
    const std::size_t bytes = plate.size() * sizeof(float);
    std::copy(plate.begin(), plate.end(), host_);
    CHECK_ZE(zeCommandListAppendMemoryCopy(immediate_, now_, host_, bytes, nullptr, 0, nullptr));
    finish();
    if (options_.regular) record_stretches();

    const sample::Stopwatch stopwatch;
    int steps = 0;
    for (int stretch = 0; steps + options_.report_every <= options_.iterations; ++stretch) {
      if (options_.regular) {
        CHECK_ZE(zeCommandQueueExecuteCommandLists(queue_, 1,
                                                   &lists_[static_cast<std::size_t>(stretch) % lists_.size()], fence_));
        if (options_.report_every % 2 != 0) std::swap(now_, next_);
        CHECK_ZE(zeFenceHostSynchronize(fence_, kForEver));
        CHECK_ZE(zeFenceReset(fence_));
      } else {
        append_stretch(immediate_);
        finish();
      }
      steps += options_.report_every;
      heat::report(options_, steps, host_);
    }
    for (; steps < options_.iterations; ++steps) append_step(immediate_);
    finish();
    stopwatch.print();
    CHECK_ZE(zeCommandListAppendMemoryCopy(immediate_, host_, now_, bytes, nullptr, 0, nullptr));
    finish();
    plate.assign(host_, host_ + plate.size());
    return heat::judge(options_, plate);
  }

 private:
  void make_kernels() {
    const std::vector<std::uint8_t> code = read_file(options_.module);
    ze_module_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    description.format = options_.native ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV;
    description.inputSize = code.size();
    description.pInputModule = code.data();
    CHECK_ZE(zeModuleCreate(context_, device_, &description, &module_, nullptr));
    ze_kernel_desc_t kernel{};
    kernel.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    kernel.pKernelName = "step_heat";
    CHECK_ZE(zeKernelCreate(module_, &kernel, &step_));
    kernel.pKernelName = "sum_change";
    CHECK_ZE(zeKernelCreate(module_, &kernel, &sum_));
    CHECK_ZE(zeKernelSetGroupSize(step_, heat::kTileWidth, heat::kTileHeight, 1));
    CHECK_ZE(zeKernelSetGroupSize(sum_, heat::kThreads, 1, 1));
  }

  float* device_memory(std::size_t bytes) {
    ze_device_mem_alloc_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    void* memory = nullptr;
    CHECK_ZE(zeMemAllocDevice(context_, &description, bytes, 64, device_, &memory));
    return static_cast<float*>(memory);
  }

  void append_step(ze_command_list_handle_t list) {
    set(step_, 0, now_);
    set(step_, 1, next_);
    set(step_, 2, options_.size);
    set(step_, 3, heat::kDiffusion);
    const auto size = static_cast<unsigned>(options_.size);
    const ze_group_count_t groups = {sample::divide_up(size, heat::kTileWidth),
                                     sample::divide_up(size, heat::kTileHeight), 1};
    CHECK_ZE(zeCommandListAppendLaunchKernel(list, step_, &groups, nullptr, 0, nullptr));
    std::swap(now_, next_);
  }

  /// Steps up to the next look at the residual, and the look.
  void append_stretch(ze_command_list_handle_t list) {
    for (int i = 0; i < options_.report_every; ++i) append_step(list);
    // After the swap `next_` is the plate of the step before.
    set(sum_, 0, next_);
    set(sum_, 1, now_);
    set(sum_, 2, cells_);
    set(sum_, 3, sums_);
    const ze_group_count_t groups = {heat::kGroups, 1, 1};
    CHECK_ZE(zeCommandListAppendLaunchKernel(list, sum_, &groups, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, host_, sums_, heat::kGroups * sizeof(float), nullptr, 0, nullptr));
  }

  /// A stretch of an odd number of steps leaves the buffers swapped: the next one needs a list of its own.
  void record_stretches() {
    const ze_fence_desc_t fence{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
    CHECK_ZE(zeFenceCreate(queue_, &fence, &fence_));
    ze_command_list_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    description.flags = kListInOrder;
    const int count = options_.report_every % 2 == 0 ? 1 : 2;
    for (int i = 0; i < count; ++i) {
      ze_command_list_handle_t list = nullptr;
      CHECK_ZE(zeCommandListCreate(context_, device_, &description, &list));
      lists_.push_back(list);
      append_stretch(list);
      CHECK_ZE(zeCommandListClose(list));
    }
  }

  /// Waits for everything in the immediate list.
  void finish() {
    CHECK_ZE(zeCommandListAppendBarrier(immediate_, done_, 0, nullptr));
    CHECK_ZE(zeEventHostSynchronize(done_, kForEver));
    CHECK_ZE(zeEventHostReset(done_));
  }

  Options options_;
  int cells_;
  ze_device_handle_t device_ = nullptr;
  ze_context_handle_t context_ = nullptr;
  ze_module_handle_t module_ = nullptr;
  ze_kernel_handle_t step_ = nullptr, sum_ = nullptr;
  ze_event_pool_handle_t pool_ = nullptr;
  ze_event_handle_t done_ = nullptr;
  ze_command_queue_handle_t queue_ = nullptr;
  ze_command_list_handle_t immediate_ = nullptr;
  ze_fence_handle_t fence_ = nullptr;
  std::vector<ze_command_list_handle_t> lists_;
  float *now_ = nullptr, *next_ = nullptr, *sums_ = nullptr;
  float* host_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    CLI::App app("Heat in a square plate with Level Zero: two buffers that swap roles, a residual every few steps.");
    heat::add_options(app, options);
    app.add_option("--device", options.device, "Number of the device")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_option("--module", options.module, "The compiled kernels (heat_kernels.cl), SPIR-V")->capture_default_str();
    app.add_flag("--native", options.native, "The module is the device's own code, not SPIR-V");
    app.add_flag("--regular", options.regular, "Execute recorded lists instead of appending to an immediate one");
    CLI11_PARSE(app, argc, argv);
    return Solver(options).solve() ? 0 : 1;
  });
}
