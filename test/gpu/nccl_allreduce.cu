// All-reduce in a loop over all devices of this machine, one process: every device adds up what all have, and
// continues with a kernel of its own. Integers, so that the result does not depend on the order of the sum.
#include <nccl.h>

#include "cuda_check.h"
#include "library_loop.h"

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
  unsigned *own = nullptr, *sum = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t communicator = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "nccl_allreduce [--iterations N] [--devices N]");
  const int iterations = arguments.integer("iterations", 500);
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
  for (int d = 0; d < count; ++d) {
    Device& device = devices[static_cast<std::size_t>(d)];
    device.communicator = communicators[static_cast<std::size_t>(d)];
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking));
    std::vector<unsigned> start(kCount);
    for (unsigned i = 0; i < kCount; ++i) start[i] = i * 2654435761u + static_cast<unsigned>(d);
    CHECK_CUDA(cudaMalloc(&device.own, kCount * sizeof(unsigned)));
    CHECK_CUDA(cudaMalloc(&device.sum, kCount * sizeof(unsigned)));
    CHECK_CUDA(cudaMemcpy(device.own, start.data(), kCount * sizeof(unsigned), cudaMemcpyHostToDevice));
    // The copy may return before all has arrived, and these streams do not wait for that.
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  gpu_test::Loop loop("allreduce");
  for (int i = 0; i < iterations; ++i) {
    CHECK_NCCL(ncclGroupStart());
    for (Device& device : devices) {
      CHECK_NCCL(
          ncclAllReduce(device.own, device.sum, kCount, ncclUint32, ncclSum, device.communicator, device.stream));
    }
    CHECK_NCCL(ncclGroupEnd());
    for (int d = 0; d < count; ++d) {
      Device& device = devices[static_cast<std::size_t>(d)];
      CHECK_CUDA(cudaSetDevice(d));
      stir<<<kCount / 256, 256, 0, device.stream>>>(device.own, device.sum, kCount, static_cast<unsigned>(d),
                                                    static_cast<unsigned>(i % 4));
      CHECK_CUDA(cudaGetLastError());
    }
    if (i % 8 == 7) {
      for (Device& device : devices) CHECK_CUDA(cudaStreamSynchronize(device.stream));
    }
  }
  gpu_test::Checksum checksum;
  for (int d = 0; d < count; ++d) {
    Device& device = devices[static_cast<std::size_t>(d)];
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaStreamSynchronize(device.stream));
    checksum.add_device(device.own, kCount);
    checksum.add_device(device.sum, kCount);
  }
  loop.print({}, checksum.value());
  for (Device& device : devices) CHECK_NCCL(ncclCommDestroy(device.communicator));
  return 0;
}
