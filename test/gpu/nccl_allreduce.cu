// All-reduce in a loop over all devices of this machine, one process, from one thread or from a thread for each: every
// device adds up what all have, and continues with a kernel of its own. Integers, so that the result does not depend on
// the order of the sum.
#include <nccl.h>

#include "cuda_check.h"
#include "library_loop.h"
#include "step_times.h"

namespace {

void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) gpu_test::library_failed(call, ncclGetErrorString(status));
}
#define CHECK_NCCL(call) check_nccl((call), #call)

constexpr std::size_t kCount = 1 << 14;

__global__ void stir(unsigned* own, const unsigned* sum, unsigned count, unsigned device, unsigned step) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) own[i] = (own[i] ^ sum[i]) * 1664525u + device * 7919u + step;
}

struct Device {
  int number = 0;
  unsigned *own = nullptr, *sum = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t communicator = nullptr;
};

struct Options {
  int steps = 0, sync_every = 8;  // a step ends with a wait
  bool threads = false, skew = false;
};

void make(Device& device) {
  CHECK_CUDA(cudaSetDevice(device.number));
  CHECK_CUDA(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking));
  std::vector<unsigned> start(kCount);
  for (unsigned i = 0; i < kCount; ++i) start[i] = i * 2654435761u + static_cast<unsigned>(device.number);
  CHECK_CUDA(cudaMalloc(&device.own, kCount * sizeof(unsigned)));
  CHECK_CUDA(cudaMalloc(&device.sum, kCount * sizeof(unsigned)));
  CHECK_CUDA(cudaMemcpy(device.own, start.data(), kCount * sizeof(unsigned), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(device.sum, 0, kCount * sizeof(unsigned)));
  // The copy may return before all has arrived, and these streams do not wait for that.
  CHECK_CUDA(cudaDeviceSynchronize());
  // A kernel that is loaded with its first launch may wait for all that runs, and so for devices that wait for this
  // one.
  stir<<<kCount / 256, 256, 0, device.stream>>>(device.own, device.sum, kCount, 0, 0);
  CHECK_CUDA(cudaStreamSynchronize(device.stream));
}

void reduce(Device& device) {
  CHECK_NCCL(ncclAllReduce(device.own, device.sum, kCount, ncclUint32, ncclSum, device.communicator, device.stream));
}

/// Of these devices, in one thread: all of them, or one of several threads' own.
void loop(Device* devices, std::size_t count, bool last, const Options& options, gpu_test::StepTimes& times) {
  CHECK_CUDA(cudaSetDevice(devices->number));
  times.begin();
  const int iterations = options.steps * options.sync_every;
  for (int i = 0; i < iterations; ++i) {
    if (count > 1) CHECK_NCCL(ncclGroupStart());
    for (std::size_t d = 0; d < count; ++d) reduce(devices[d]);
    if (count > 1) CHECK_NCCL(ncclGroupEnd());
    if (options.skew && last) gpu_test::late(i);
    for (std::size_t d = 0; d < count; ++d) {
      CHECK_CUDA(cudaSetDevice(devices[d].number));
      stir<<<kCount / 256, 256, 0, devices[d].stream>>>(devices[d].own, devices[d].sum, kCount,
                                                        static_cast<unsigned>(devices[d].number),
                                                        static_cast<unsigned>(i % 4));
      CHECK_CUDA(cudaGetLastError());
    }
    if (i % options.sync_every == options.sync_every - 1) {
      for (std::size_t d = 0; d < count; ++d) CHECK_CUDA(cudaStreamSynchronize(devices[d].stream));
      times.end();
      times.begin();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv,
                                "nccl_allreduce [--steps N] [--devices N] [--sync-every N] [--threads] [--skew]");
  Options options;
  options.sync_every = std::max(1, arguments.integer("sync-every", options.sync_every));
  options.steps = arguments.integer("steps", 500 / options.sync_every);
  options.threads = arguments.flag("threads");
  options.skew = arguments.flag("skew");
  int available = 0;
  CHECK_CUDA(cudaGetDeviceCount(&available));
  const int count = arguments.integer("devices", available);
  arguments.nothing_left();
  if (count < 1 || count > available) {
    std::fprintf(stderr, "there are %d devices, not %d\n", available, count);
    return 1;
  }

  std::vector<Device> devices(static_cast<std::size_t>(count));
  std::vector<ncclComm_t> communicators(devices.size());
  CHECK_NCCL(ncclCommInitAll(communicators.data(), count, nullptr));
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].number = static_cast<int>(d);
    devices[d].communicator = communicators[d];
    make(devices[d]);
  }

  gpu_test::Loop whole("allreduce");
  std::vector<gpu_test::StepTimes> times(devices.size());
  if (options.threads) {
    std::vector<std::thread> threads;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      threads.emplace_back([&, d] { loop(&devices[d], 1, d + 1 == devices.size(), options, times[d]); });
    }
    for (std::thread& thread : threads) thread.join();
  } else {
    loop(devices.data(), devices.size(), true, options, times[0]);
  }
  gpu_test::Checksum checksum;
  for (Device& device : devices) {
    CHECK_CUDA(cudaSetDevice(device.number));
    CHECK_CUDA(cudaStreamSynchronize(device.stream));
    checksum.add_device(device.own, kCount);
    checksum.add_device(device.sum, kCount);
  }
  whole.print({}, checksum.value());
  times[0].print();
  for (Device& device : devices) CHECK_NCCL(ncclCommDestroy(device.communicator));
  return 0;
}
