// Kernels that end only when something else happens: what the host does, or what another stream gets later. Whoever
// waits for anything that the program did not order before it never ends here.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 16;

/// A gate that its kernel finds closed each time, until open() or bump() let one more through.
class Gate {
 public:
  explicit Gate(const Device& gpu) : await_(gpu.function("await")), bump_(gpu.function("bump")), words_(pinned(64)) {}
  void close(CUstream stream) const { launch_on(stream, await_, 1, address(0), address(32)); }
  void open(CUstream stream) const { launch_on(stream, bump_, 1, address(0)); }
  void open() const { __atomic_fetch_add(words_, 1U, __ATOMIC_SEQ_CST); }

 private:
  [[nodiscard]] CUdeviceptr address(int word) const { return reinterpret_cast<CUdeviceptr>(words_ + word); }

  CUfunction await_, bump_;
  Word* words_;
};

void ask_until_done(CUevent event) {
  CUresult status = CUDA_SUCCESS;
  while ((status = cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
    pause_briefly();
  }
  CHECK_CU(status);
}

void ask_until_done(CUstream stream) {
  CUresult status = CUDA_SUCCESS;
  while ((status = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) {
    pause_briefly();
  }
  CHECK_CU(status);
}

}  // namespace

/// A kernel in one stream waits for the host, which waits for the other stream first: "event", "ask event", "ask
/// stream", or the stream. "default": the other stream is the default one.
PROGRAM(host_gate) {
  const Device gpu;
  const std::string way = argc > 1 ? argv[1] : "";
  CUstream gated = make_stream();
  CUstream other = way == "default" ? nullptr : make_stream();
  CUevent event = make_event();
  CUfunction step = gpu.function("scale");
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const Gate gate(gpu);
  for (Word round = 0; round < 300; ++round) {
    scale(gated, step, x, kCount, 3, 1);
    gate.close(gated);
    scale(gated, step, x, kCount, 3, 2);
    for (Word i = 0; i < 4; ++i) {
      scale(other, step, y, kCount, 3, i);
    }
    CHECK_CU(cuEventRecord(event, other));
    if (way == "event") {
      CHECK_CU(cuEventSynchronize(event));
    } else if (way == "ask event") {
      ask_until_done(event);
    } else if (way == "ask stream") {
      ask_until_done(other);
    } else {
      CHECK_CU(cuStreamSynchronize(other));
    }
    gate.open();
    if (round % 8 == 7) {
      CHECK_CU(cuStreamSynchronize(gated));
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// A kernel waits for one that another stream gets later; "chunks": so much later that it is not submitted together.
PROGRAM(stream_gate) {
  const Device gpu;
  const Word between = argc > 1 ? 150 : 3;
  CUstream gated = make_stream();
  CUstream other = make_stream();
  CUevent before = make_event();
  CUevent behind = make_event();
  CUfunction step = gpu.function("scale");
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const Gate gate(gpu);
  for (Word round = 0; round < 200; ++round) {
    scale(gated, step, x, kCount, 3, 1);
    scale(gated, step, x, kCount, 3, 2);
    CHECK_CU(cuEventRecord(before, gated));
    CHECK_CU(cuStreamWaitEvent(other, before, 0));
    scale(other, step, y, kCount, 3, 1);
    gate.close(gated);
    scale(gated, step, x, kCount, 3, 3);
    for (Word i = 0; i < between; ++i) {
      scale(other, step, y, kCount, 3, i);
    }
    gate.open(other);
    scale(other, step, y, kCount, 3, 5);
    CHECK_CU(cuEventRecord(behind, other));
    CHECK_CU(cuStreamWaitEvent(gated, behind, 0));
    if (round % 5 == 4) {
      CHECK_CU(cuStreamSynchronize(gated));
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// An event in the middle of a stream is waited for, or asked ("ask"), while the kernel behind it waits for the host.
PROGRAM(gate_behind_event) {
  const Device gpu;
  const bool asks = argc > 1;
  CUstream stream = make_stream();
  CUevent event = make_event();
  CUfunction step = gpu.function("scale");
  const CUdeviceptr x = filled(kCount, 1);
  const Gate gate(gpu);
  for (Word round = 0; round < 300; ++round) {
    for (Word i = 0; i < 4; ++i) {
      scale(stream, step, x, kCount, 3, i);
    }
    CHECK_CU(cuEventRecord(event, stream));
    gate.close(stream);
    for (Word i = 0; i < 4; ++i) {
      scale(stream, step, x, kCount, 5, i);
    }
    if (asks) {
      ask_until_done(event);
    } else {
      CHECK_CU(cuEventSynchronize(event));
    }
    gate.open();
    if (round % 8 == 7) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  return 0;
}

/// Graphs are made while a kernel waits for the host, which gives back a stream first; "ends": which ends instead.
PROGRAM(busy_device) {
  const Device gpu;
  const bool ends = argc > 1 && std::string(argv[1]) == "ends";
  CUstream gated = make_stream();
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  const CUdeviceptr x = filled(kCount, 1);
  const Gate gate(gpu);
  for (Word epoch = 0; epoch < 12; ++epoch) {
    CUstream unused = make_stream();
    for (int round = 0; round < 5; ++round) {
      for (Word length = 8; length < 32; ++length) {
        for (Word i = 0; i < length; ++i) {
          scale(stream, step, x, kCount, 3, i * length + epoch * 1000);
        }
        CHECK_CU(cuStreamSynchronize(stream));
      }
    }
    gate.close(gated);
    usleep(3000);  // what is made now finds the device busy
    if (ends) {
      std::puts("end 0");
      std::exit(0);
    }
    CHECK_CU(cuStreamDestroy(unused));
    gate.open();
    CHECK_CU(cuCtxSynchronize());
  }
  print("x", x, kCount);
  return 0;
}
