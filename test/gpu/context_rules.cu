// What the driver says to work in a stream whose context is not the current one, and to objects of other contexts, all
// on one device. The simulated device and Refrain rest on these rules. The output has no times: it must be the same
// with Refrain.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr const char* kKernel =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry store(.param .u64 where, .param .u32 what)\n"
    "{\n .reg .b64 %rd<3>;\n .reg .b32 %r<2>;\n"
    " ld.param.u64 %rd1, [where];\n ld.param.u32 %r1, [what];\n cvta.to.global.u64 %rd2, %rd1;\n"
    " st.global.u32 [%rd2], %r1;\n ret;\n}\n";

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "context_rules: %s failed: %d\n", call, static_cast<int>(status));
  std::exit(1);
}
#define CHECK_DRIVER(call) check((call), #call)

const char* name_of(CUresult status) {
  const char* name = nullptr;
  return cuGetErrorName(status, &name) == CUDA_SUCCESS ? name : "unknown";
}

/// A context with something of everything in it. It is current when it was made.
struct Side {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  CUdeviceptr memory = 0;

  explicit Side(CUdevice device) {
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    fill();
  }
  explicit Side(CUcontext made) : context(made) { fill(); }

  [[nodiscard]] CUresult launch(CUstream into, unsigned value) {
    void* parameters[] = {&memory, &value};
    return cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, into, parameters, nullptr);
  }
  /// What its memory has in it, whatever is current.
  [[nodiscard]] unsigned value() const {
    unsigned value = 0;
    CHECK_DRIVER(cuCtxPushCurrent(context));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuMemcpyDtoH(&value, memory, sizeof(value)));
    CHECK_DRIVER(cuCtxPopCurrent(nullptr));
    return value;
  }

 private:
  void fill() {
    CHECK_DRIVER(cuCtxSetCurrent(context));
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuModuleLoadData(&module, kKernel));
    CHECK_DRIVER(cuModuleGetFunction(&store, module, "store"));
    CHECK_DRIVER(cuMemAlloc(&memory, 256));
  }
};

CUcontext make_context(CUdevice device) {
  CUcontext made = nullptr;
#if CUDA_VERSION >= 13000
  CHECK_DRIVER(cuCtxCreate(&made, nullptr, 0, device));
#else
  CHECK_DRIVER(cuCtxCreate(&made, 0, device));
#endif
  return made;
}

void tell(const char* current, const char* call, CUresult status) {
  std::printf("%-8s current: %-34s %s\n", current, call, name_of(status));
}

void own_objects(const char* current, Side& side, unsigned value) {
  tell(current, "launch", side.launch(side.stream, value));
  std::printf("%-8s current: it wrote %u\n", current, side.value());
  tell(current, "fill", cuMemsetD32Async(side.memory, value + 1, 1, side.stream));
  tell(current, "copy", cuMemcpyDtoDAsync(side.memory + 128, side.memory, 4, side.stream));
  tell(current, "record", cuEventRecord(side.event, side.stream));
  tell(current, "wait", cuStreamWaitEvent(side.stream, side.event, 0));
  tell(current, "query the stream",
       cuStreamQuery(side.stream) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : cuStreamQuery(side.stream));
  tell(current, "synchronize the stream", cuStreamSynchronize(side.stream));
  tell(current, "synchronize the event", cuEventSynchronize(side.event));
  std::printf("%-8s current: filled with %u\n", current, side.value());
}

}  // namespace

int main() {
  CHECK_DRIVER(cuInit(0));
  CUdevice device = 0;
  CHECK_DRIVER(cuDeviceGet(&device, 0));
  Side first(device);
  Side second(make_context(device));
  for (CUcontext current : {first.context, second.context, static_cast<CUcontext>(nullptr)}) {
    CHECK_DRIVER(cuCtxSetCurrent(current));
    const char* name = current == first.context ? "own" : current == nullptr ? "none" : "another";
    own_objects(name, first, current == nullptr ? 30 : current == first.context ? 10 : 20);
    tell(name, "launch into the default stream", first.launch(nullptr, 5));
    CHECK_DRIVER(cuCtxSetCurrent(current));
  }
  CHECK_DRIVER(cuCtxSetCurrent(first.context));
  tell("own", "launch of another's kernel", second.launch(first.stream, 40));
  tell("own", "launch into another's stream", first.launch(second.stream, 41));
  tell("own", "record of another's event", cuEventRecord(second.event, first.stream));
  CHECK_DRIVER(cuCtxPushCurrent(second.context));
  CHECK_DRIVER(cuEventRecord(second.event, second.stream));
  CHECK_DRIVER(cuCtxPopCurrent(nullptr));
  tell("own", "wait for another's event", cuStreamWaitEvent(first.stream, second.event, 0));
  tell("own", "fill of another's memory", cuMemsetD32Async(second.memory, 7, 1, first.stream));
  CHECK_DRIVER(cuStreamSynchronize(first.stream));
  std::printf("values %u %u\n", first.value(), second.value());
  return 0;
}
