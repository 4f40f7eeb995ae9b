// Graphs are uploaded so that none of ours slows the device down (backends/cuda/graph_uploader.h). The driver here has
// the rule that an H100's was seen to have (test/gpu/graph_uploads.cu).
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "backends/cuda/graph_uploader.h"

namespace refrain::backends {
namespace {

struct Executable {
  int copies = 0;  ///< nodes that count: kernels, and copies of device memory
  bool uploaded = false, launched = false;
};

/// So many an upload must have to count, and to be over with its launch whatever other streams do in between.
constexpr int kCounts = 2, kLasts = 8;

/// What the driver knows. Static, as its functions have no place for it.
struct Device {
  std::map<CUgraph, int> graphs;
  std::map<CUgraphExec, Executable> executables;
  std::vector<CUgraphExec> waiting;  ///< uploaded and not launched; the first one slows everything
  bool slow_for_good = false;        ///< that one was destroyed
  bool others_launch = false;        ///< in other streams, between any two calls
  bool busy = false;                 ///< with kernels of the program: nothing of ours ends
  std::vector<std::string> calls;
  std::string fails;        ///< the call that fails from now on
  std::uintptr_t next = 1;  ///< handle
  int streams = 0, allocations = 0;

  [[nodiscard]] bool slow() const { return slow_for_good || !waiting.empty(); }
  CUresult called(const std::string& name) {
    calls.push_back(name);
    return name == fails ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  }
  CUgraph make_graph() {
    auto* graph = reinterpret_cast<CUgraph>(next++);
    graphs[graph] = 0;
    return graph;
  }
  CUgraphExec make_executable(int copies) {
    auto* executable = reinterpret_cast<CUgraphExec>(next++);
    executables[executable].copies = copies;
    return executable;
  }
  void upload(CUgraphExec which) {
    Executable& executable = executables.at(which);
    // One that is uploaded while another one slows does not slow, though that one is launched.
    if (executable.copies >= kCounts && !executable.uploaded && !executable.launched && waiting.empty()) {
      waiting.push_back(which);
    }
    executable.uploaded = true;
  }
  void launch(CUgraphExec which) {
    executables.at(which).launched = true;
    slow_for_good = slow_for_good || (others_launch && executables.at(which).copies < kLasts);
    std::erase(waiting, which);
  }
  void destroy(CUgraphExec which) {
    slow_for_good = slow_for_good || std::erase(waiting, which) > 0;
    REQUIRE(executables.erase(which) == 1);
  }
};
Device device;

CudaDriver driver_of_device() {
  device = {};
  CudaDriver driver;
  driver.cuStreamCreateWithPriority = [](CUstream* stream, unsigned, int) {
    *stream = reinterpret_cast<CUstream>(7);
    ++device.streams;
    return device.called("create stream");
  };
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(9);
    return CUDA_SUCCESS;
  };
  driver.cuMemAlloc_v2 = [](CUdeviceptr* memory, std::size_t) {
    *memory = 4096;
    ++device.allocations;
    return device.called("allocate");
  };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return device.called("fill"); };
  driver.cuGraphCreate = [](CUgraph* graph, unsigned) {
    const CUresult status = device.called("create");
    *graph = status == CUDA_SUCCESS ? device.make_graph() : nullptr;
    return status;
  };
  driver.cuGraphAddMemcpyNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t,
                                   const CUDA_MEMCPY3D* copy, CUcontext) {
    REQUIRE(copy->dstDevice != copy->srcDevice);
    *node = reinterpret_cast<CUgraphNode>(device.next++);
    ++device.graphs.at(graph);
    return device.called("add copy");
  };
  driver.cuGraphDestroy = [](CUgraph graph) {
    REQUIRE(device.graphs.erase(graph) == 1);
    return CUDA_SUCCESS;
  };
  driver.cuGraphInstantiateWithFlags = [](CUgraphExec* executable, CUgraph graph, unsigned long long) {
    const CUresult status = device.called("instantiate");
    if (status == CUDA_SUCCESS) {
      *executable = device.make_executable(device.graphs.at(graph));
    }
    return status;
  };
  driver.cuGraphUpload = [](CUgraphExec executable, CUstream) {
    const CUresult status = device.called("upload");
    if (status == CUDA_SUCCESS) {
      device.upload(executable);
    }
    return status;
  };
  driver.cuGraphLaunch = [](CUgraphExec executable, CUstream) {
    const CUresult status = device.called("launch");
    if (status == CUDA_SUCCESS) {
      device.launch(executable);
    }
    return status;
  };
  driver.cuStreamSynchronize = [](CUstream) { return device.called("synchronize"); };
  driver.cuStreamQuery = [](CUstream stream) {
    REQUIRE(stream == reinterpret_cast<CUstream>(7));
    return device.busy ? CUDA_ERROR_NOT_READY : device.called("query");
  };
  driver.cuGraphExecDestroy = [](CUgraphExec executable) {
    device.destroy(executable);
    return CUDA_SUCCESS;
  };
  return driver;
}

CUresult upload(GraphUploader& uploader, const CudaDriver& driver, CUgraphExec executable,
                ExclusiveCallYield& exclusive_call_yield) {
  uploader.prepare(driver, exclusive_call_yield);
  uploader.instantiate(driver, exclusive_call_yield);
  return uploader.upload(driver, {&executable, 1}, exclusive_call_yield);
}

}  // namespace

TEST_CASE("an upload by itself slows the device, and for good if its graph is destroyed") {
  const CudaDriver driver = driver_of_device();
  CUgraphExec graph = device.make_executable(64);
  driver.cuGraphUpload(graph, nullptr);
  CHECK(device.slow());
  driver.cuGraphExecDestroy(graph);
  CHECK(device.slow());
}

TEST_CASE("graphs that are never launched slow nothing, whether they stay or go") {
  const CudaDriver driver = driver_of_device();
  device.others_launch = GENERATE(false, true);
  GraphUploader uploader;
  ExclusiveCallYield right;
  CUgraphExec first = device.make_executable(64);
  CUgraphExec second = device.make_executable(100);
  CHECK(upload(uploader, driver, first, right) == CUDA_SUCCESS);
  CHECK_FALSE(device.slow());
  CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
  CHECK(upload(uploader, driver, second, right) == CUDA_SUCCESS);
  CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
  CHECK_FALSE(device.slow());
  driver.cuGraphExecDestroy(first);
  CHECK_FALSE(device.slow());
  CHECK(device.executables.at(second).uploaded);
  CHECK(device.executables.size() == 1);  // the sentinels are gone
  CHECK(device.streams == 1);
  CHECK(device.allocations == 1);
}

TEST_CASE("what is launched and destroyed is done with only after the wait") {
  const CudaDriver driver = driver_of_device();
  GraphUploader uploader;
  ExclusiveCallYield right;
  CUgraphExec graph = device.make_executable(64);
  upload(uploader, driver, graph, right);
  CHECK(device.executables.size() == 2);
  CHECK(std::vector<std::string>(device.calls.end() - 4, device.calls.end()) ==
        std::vector<std::string>{"instantiate", "upload", "upload", "launch"});
  uploader.wait(driver, right);
  CHECK(device.calls.back() == "synchronize");
  CHECK(device.executables.size() == 1);
}

TEST_CASE("where there is no sentinel, graphs are uploaded all the same") {
  CudaDriver driver = driver_of_device();
  device.fails = GENERATE("allocate", "fill", "create", "add copy", "instantiate");
  GraphUploader uploader;
  ExclusiveCallYield right;
  for (int i = 0; i < 2; ++i) {
    CUgraphExec graph = device.make_executable(64);
    CHECK(upload(uploader, driver, graph, right) == CUDA_SUCCESS);
    CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
    CHECK(device.executables.at(graph).uploaded);
  }
  CHECK(device.executables.size() == 2);
  CHECK(device.allocations == 1);  // tried once
  CHECK(device.graphs.size() == (device.fails == "instantiate" ? 1 : 0));
}

TEST_CASE("a driver that does not allocate uploads all the same") {
  CudaDriver driver = driver_of_device();
  driver.cuMemAlloc_v2 = nullptr;
  GraphUploader uploader;
  ExclusiveCallYield right;
  CUgraphExec graph = device.make_executable(64);
  CHECK(upload(uploader, driver, graph, right) == CUDA_SUCCESS);
  CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
  CHECK(device.executables.at(graph).uploaded);
}

TEST_CASE("errors of the upload and of the wait are told, and nothing is left that slows") {
  CudaDriver driver = driver_of_device();
  GraphUploader uploader;
  ExclusiveCallYield right;
  CUgraphExec graph = device.make_executable(64);
  SECTION("the graph's own upload") {
    static int uploads;
    uploads = 0;
    driver.cuGraphUpload = [](CUgraphExec executable, CUstream) {
      if (++uploads == 2) {
        return CUDA_ERROR_LAUNCH_FAILED;
      }
      device.upload(executable);
      return CUDA_SUCCESS;
    };
    CHECK(upload(uploader, driver, graph, right) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
  }
  SECTION("the wait") {
    device.fails = "synchronize";
    CHECK(upload(uploader, driver, graph, right) == CUDA_SUCCESS);
    CHECK(uploader.wait(driver, right) == CUDA_ERROR_OUT_OF_MEMORY);
  }
  SECTION("the stream, which is tried again") {
    device.fails = "create stream";
    CHECK(upload(uploader, driver, graph, right) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
    CHECK(device.calls ==
          std::vector<std::string>{"create stream", "create stream"});  // and no default stream is waited for
    device.fails.clear();
    CHECK(upload(uploader, driver, graph, right) == CUDA_SUCCESS);
    CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
  }
  CHECK_FALSE(device.slow());
  CHECK(device.executables.size() == 1);
}

TEST_CASE("an upload is done when the device says so, or says that it failed") {
  const CudaDriver driver = driver_of_device();
  GraphUploader uploader;
  ExclusiveCallYield right;
  CHECK(uploader.done(driver));  // nothing was begun
  device.busy = true;
  CHECK(upload(uploader, driver, device.make_executable(64), right) == CUDA_SUCCESS);
  CHECK_FALSE(uploader.done(driver));
  device.busy = false;
  CHECK(uploader.done(driver));
  device.fails = "query";
  CHECK(uploader.done(driver));
  CHECK(uploader.wait(driver, right) == CUDA_SUCCESS);
}

}  // namespace refrain::backends
