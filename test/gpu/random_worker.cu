#include <chrono>

#include "driver_check.h"
#include "random_worker.h"

namespace random_test {

namespace {

constexpr std::size_t kBytes = kWords * sizeof(Word);

CUdeviceptr address(const Word* data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

}  // namespace

Worker::Worker(std::uint64_t seed, unsigned thread, bool careful, bool gates)
    : random_(seed * 1000 + thread), careful_(careful), gated_(gates), pageable_(kWords) {
  int least = 0, greatest = 0;
  CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  created_.resize(4);
  CHECK_CUDA(cudaStreamCreate(&created_[0]));
  CHECK_CUDA(cudaStreamCreateWithFlags(&created_[1], cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreateWithPriority(&created_[2], cudaStreamNonBlocking, greatest));
  CHECK_CUDA(cudaStreamCreateWithPriority(&created_[3], cudaStreamDefault, least));
  CHECK_CUDA(cudaStreamCreateWithFlags(&capture_stream_, cudaStreamNonBlocking));
  tracker_ = std::make_unique<Tracker>(std::vector<StreamEntry>{{cudaStreamLegacy, true},
                                                                {cudaStreamPerThread, true},
                                                                {created_[0], true},
                                                                {created_[1], false},
                                                                {created_[2], false},
                                                                {created_[3], true}},
                                       random_);
  generator_ = std::make_unique<Generator>(random_, streams().count());
  std::vector<Word> start(kWords);
  const Device device(capture_lock);
  for (Buffer& buffer : buffers_) {
    for (Word& word : start) word = random_.next();
    CHECK_CUDA(cudaMalloc(&buffer.data, kBytes));
    CHECK_CUDA(cudaMemcpy(buffer.data, start.data(), kBytes, cudaMemcpyHostToDevice));
  }
  for (unsigned i = 0; i < kPinned; ++i) {
    CHECK_CUDA(cudaMallocHost(&pinned_[i].data, kBytes));
    for (unsigned k = 0; k < kWords; ++k) pinned_[i].data[k] = random_.next();
    host_works_[i] = {pinned_[i].data, random_.next() | 1u, 0};
  }
  CHECK_CUDA(cudaMallocHost(&flag_, sizeof *flag_));
  *flag_ = 0;
  make_gates();
  CHECK_CUDA(cudaEventCreate(&before_));
  CHECK_CUDA(cudaEventCreate(&after_));
  CHECK_CUDA(cudaDeviceSynchronize());
}

Worker::~Worker() {
  {
    const Device device(capture_lock);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (OwnGraph& graph : graphs_) {
      if (graph.executable != nullptr) CHECK_CUDA(cudaGraphExecDestroy(graph.executable));
    }
    for (Buffer& buffer : buffers_) CHECK_CUDA(cudaFree(buffer.data));
    for (Buffer& buffer : pinned_) CHECK_CUDA(cudaFreeHost(buffer.data));
    CHECK_CUDA(cudaFreeHost(flag_));
    destroy_gates();
    for (cudaStream_t stream : created_) CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_CUDA(cudaStreamDestroy(capture_stream_));
    CHECK_CUDA(cudaEventDestroy(before_));
    CHECK_CUDA(cudaEventDestroy(after_));
  }
}

void load_kernels() {
  cudaFuncAttributes attributes{};
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, mix));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, mix_dependent));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, mix_packet));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, turn));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, signal));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, await_gate));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, open_gate));
}

void Worker::run_round() {
  if (bodies_.empty()) {
    for (OwnGraph& graph : graphs_) {
      graph.to = random_.below(kKeptBuffers);
      graph.from = (graph.to + 1 + random_.below(kKeptBuffers - 1)) % kKeptBuffers;
      graph.executable = capture(buffers_[graph.to].data, buffers_[graph.from].data, random_.next());
    }
    const unsigned count = 2 + random_.below(3);
    for (unsigned i = 0; i < count; ++i) bodies_.push_back(generator_->body());
  }
  const Body& body = bodies_[random_.below(static_cast<unsigned>(bodies_.size()))];
  const unsigned repeats = 2 + random_.below(random_.chance(30) ? 150 : 40);
  // A quarter of the rounds repeats exactly.
  const bool varies = random_.chance(75);
  for (unsigned i = 0; i < repeats; ++i) {
    ++iteration_;
    for (const Operation& operation : body.operations) {
      if (varies && random_.below(1000) < 2) continue;
      execute(operation, iteration_);
      if (varies && random_.below(1000) < 2) execute(generator_->interruption(), iteration_);
    }
    if (body.waits) streams().wait(body.wait_stream, body.how);
  }
}

void Worker::execute(const Operation& operation, unsigned iteration) {
  const Word value = operation.value + (operation.value_changes ? iteration * 2654435761u : 0u);
  Buffer* to = &buffers_[operation.to];
  Buffer* from = &buffers_[operation.from];
  if (operation.swaps && iteration % 2 != 0) std::swap(to, from);
  const bool wait_around = waited_around[static_cast<std::size_t>(operation.kind)];
  if (wait_around) wait_for_device();
  switch (operation.kind) {
    case Kind::kMix:
    case Kind::kTurn:
    case Kind::kPacket: launch_kernel(operation, *to, *from, value); break;
    case Kind::kLaunchEx: launch_extended(operation, *to, *from, value); break;
    case Kind::kCopyDevice:
    case Kind::kCopy2D: copy(operation, *to, *from, value); break;
    case Kind::kMemset8:
    case Kind::kMemset16:
    case Kind::kMemset32:
    case Kind::kMemset2D: fill(operation, *to, value); break;
    case Kind::kCopyIn:
    case Kind::kCopyOut:
    case Kind::kHostFunction:
    case Kind::kPageableIn:
    case Kind::kPageableOut:
    case Kind::kHostTouch: use_host_memory(operation, *to, *from, value); break;
    case Kind::kSyncCopyIn:
    case Kind::kSyncCopyOut:
    case Kind::kSyncCopyDevice: copy_synchronously(operation, *to, *from, value); break;
    case Kind::kAsyncTemporary:
    case Kind::kTemporary: use_temporary(operation, *to, value); break;
    case Kind::kGraph:
    case Kind::kRecapture: use_graph(operation, *to, *from, value); break;
    case Kind::kElapsed: measure(operation, *to, *from, value); break;
    case Kind::kWait: streams().wait(operation.stream, wait_of(operation)); break;
    case Kind::kDeviceWait: {
      const Device device(capture_lock);
      CHECK_CUDA(cudaDeviceSynchronize());
      streams().all_done();
      break;
    }
    case Kind::kSpin: spin(operation, value); break;
    case Kind::kHostGate:
    case Kind::kQueueGate: use_gate(operation, *to, *from, value); break;
    case Kind::kRefused: refuse(operation, *to, *from, value); break;
    case Kind::kRenewBuffer: renew_buffer(operation, buffers_[operation.to], value); break;
    case Kind::kRenewStream: renew_stream(operation); break;
    case Kind::kCount: break;
  }
  if (wait_around) wait_for_device();
  CHECK_CUDA(cudaPeekAtLastError());
}

/// Not told to the tracker: the same waits are added as without it.
void Worker::wait_for_device() {
  const Device device(capture_lock);
  CHECK_CUDA(cudaDeviceSynchronize());
}

void Worker::launch_kernel(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  const int stream = operation.stream;
  const cudaStream_t handle = streams().handle(stream);
  if (operation.kind == Kind::kTurn) {
    streams().begin(stream, {}, {&to.uses});
    turn<<<blocks(operation.count), kBlock, kBlock * sizeof(Word), handle>>>(to.data, operation.offset, operation.count,
                                                                             value);
  } else if (operation.kind == Kind::kPacket) {
    Buffer& third = buffers_[operation.third];
    streams().begin(stream, {&from.uses, &third.uses}, {&to.uses});
    Packet packet{to.data, from.data, third.data, {}};
    for (unsigned i = 0; i < 24; ++i) packet.keys[i] = value * (2 * i + 1);
    mix_packet<<<blocks(operation.count), kBlock, 0, handle>>>(packet, operation.count);
  } else {
    streams().begin(stream, {&from.uses}, {&to.uses});
    launch_mix(stream, to.data, from.data, operation.offset, operation.count, value);
  }
}

void Worker::launch_extended(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  streams().begin(operation.stream, {&from.uses}, {&to.uses});
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((blocks(operation.count) + 1) / 2 * 2);  // whole clusters
  config.blockDim = dim3(kBlock);
  config.stream = streams().handle(operation.stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  switch (operation.style % kAttributes) {
    case 0:
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim.x = 2;
      attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
      break;
    case 1:
      attribute.id = cudaLaunchAttributeCooperative;
      attribute.val.cooperative = 1;
      break;
    case 2:
      attribute.id = cudaLaunchAttributePriority;
      attribute.val.priority = 0;
      break;
    case 3:
      // It orders itself, in the kernel, after the one in front of it; a stream that has to wait for the legacy default
      // stream, too, would rely on more than that.
      if (!streams().blocking(operation.stream)) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        break;
      }
      [[fallthrough]];
    default: config.numAttrs = 0;
  }
  CHECK_CUDA(cudaLaunchKernelEx(&config, mix_dependent, to.data, static_cast<const Word*>(from.data), operation.offset,
                                operation.count, value));
}

void Worker::copy(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  streams().begin(operation.stream, {&from.uses}, {&to.uses});
  const cudaStream_t handle = streams().handle(operation.stream);
  if (operation.kind == Kind::kCopy2D) {
    const std::size_t pitch = 256, width = 4 * (1 + value % 60), height = 1 + operation.count % 60;
    CHECK_CUDA(
        cudaMemcpy2DAsync(to.data, pitch, from.data + 16, pitch, width, height, cudaMemcpyDeviceToDevice, handle));
  } else {
    const auto kind = operation.style % 2 == 0 ? cudaMemcpyDeviceToDevice : cudaMemcpyDefault;
    CHECK_CUDA(cudaMemcpyAsync(to.data + operation.offset, from.data + operation.offset / 2,
                               operation.count * sizeof(Word), kind, handle));
  }
}

void Worker::fill(const Operation& operation, Buffer& to, Word value) {
  streams().begin(operation.stream, {}, {&to.uses});
  const cudaStream_t handle = streams().handle(operation.stream);
  Word* start = to.data + operation.offset;
  // Short ones: what a memset covers, no later checksum can see.
  const std::size_t words = 1 + operation.count % 256;
  switch (operation.kind) {
    case Kind::kMemset8: CHECK_CUDA(cudaMemsetAsync(start, static_cast<int>(value & 0xff), words * 3, handle)); break;
    case Kind::kMemset16:
      CHECK_DRIVER(cuMemsetD16Async(address(start), static_cast<unsigned short>(value), words, handle));
      break;
    case Kind::kMemset32: CHECK_DRIVER(cuMemsetD32Async(address(start), value, words, handle)); break;
    default: CHECK_CUDA(cudaMemset2DAsync(to.data, 512, static_cast<int>(value & 0xff), 1 + words / 4, 30, handle));
  }
}

void Worker::use_host_memory(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  const int stream = operation.stream;
  const cudaStream_t handle = streams().handle(stream);
  Buffer& pinned = pinned_[operation.pinned];
  const std::size_t bytes = operation.count * sizeof(Word);
  switch (operation.kind) {
    case Kind::kCopyIn:
      streams().order_after_writer(stream, pinned.uses);
      streams().begin(stream, {&pinned.uses}, {&to.uses});
      CHECK_CUDA(cudaMemcpyAsync(to.data + operation.offset, pinned.data + operation.offset, bytes,
                                 cudaMemcpyHostToDevice, handle));
      break;
    case Kind::kCopyOut:
      streams().begin(stream, {&from.uses}, {&pinned.uses});
      CHECK_CUDA(cudaMemcpyAsync(pinned.data + operation.offset, from.data + operation.offset, bytes,
                                 cudaMemcpyDeviceToHost, handle));
      break;
    case Kind::kHostFunction:
      streams().begin(stream, {}, {&pinned.uses});
      CHECK_CUDA(cudaLaunchHostFunc(handle, host_work, &host_works_[operation.pinned]));
      break;
    case Kind::kHostTouch:
      streams().host_access(pinned.uses, true, wait_of(operation));
      seen_.add(pinned.data, 64);
      for (unsigned i = 0; i < kWords; i += 8) pinned.data[i] = pinned.data[i] * 3u + value;
      break;
    case Kind::kPageableIn:
      for (unsigned i = 0; i < operation.count; ++i) pageable_[i] = value + i * 40503u;
      streams().begin(stream, {}, {&to.uses});
      CHECK_CUDA(cudaMemcpyAsync(to.data + operation.offset, pageable_.data(), bytes, cudaMemcpyHostToDevice, handle));
      // Pageable memory is the program's own again as soon as the call returns.
      if (careful_) streams().wait(stream, Wait::kStream);
      for (unsigned i = 0; i < operation.count; ++i) pageable_[i] = 0xdeadbeefu;
      break;
    default:  // kPageableOut
      streams().begin(stream, {&from.uses}, {});
      CHECK_CUDA(
          cudaMemcpyAsync(pageable_.data(), from.data + operation.offset, bytes, cudaMemcpyDeviceToHost, handle));
      streams().wait(stream, Wait::kStream);
      seen_.add(pageable_.data(), bytes);
  }
}

void Worker::copy_synchronously(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  const Device device(capture_lock);
  const std::size_t bytes = operation.count * sizeof(Word);
  if (operation.kind == Kind::kSyncCopyIn) {
    for (unsigned i = 0; i < operation.count; ++i) pageable_[i] = value ^ (i * 2246822519u);
    streams().begin(Tracker::kLegacy, {}, {&to.uses});
    CHECK_CUDA(cudaMemcpy(to.data + operation.offset, pageable_.data(), bytes, cudaMemcpyHostToDevice));
    pageable_.assign(pageable_.size(), 0xdeadbeefu);
  } else if (operation.kind == Kind::kSyncCopyOut) {
    streams().begin(Tracker::kLegacy, {&from.uses}, {});
    CHECK_CUDA(cudaMemcpy(pageable_.data(), from.data + operation.offset, bytes, cudaMemcpyDeviceToHost));
    seen_.add(pageable_.data(), bytes);
  } else {
    streams().begin(Tracker::kLegacy, {&from.uses}, {&to.uses});
    CHECK_CUDA(cudaMemcpy(to.data + operation.offset, from.data, bytes, cudaMemcpyDeviceToDevice));
  }
}

void Worker::use_temporary(const Operation& operation, Buffer& to, Word value) {
  Word* temporary = nullptr;
  Resource uses;
  const int stream = operation.stream;
  const bool ordered = operation.kind == Kind::kAsyncTemporary;
  if (ordered) {
    streams().begin(stream, {}, {&uses}, false);
    CHECK_CUDA(cudaMallocAsync(&temporary, kBytes, streams().handle(stream)));
  } else {
    const Device device(capture_lock);
    CHECK_CUDA(cudaMalloc(&temporary, kBytes));
  }
  streams().begin(stream, {}, {&uses});
  CHECK_CUDA(cudaMemsetAsync(temporary, static_cast<int>(value & 0xff), kBytes, streams().handle(stream)));
  // Now and then another stream is the one that uses it.
  const int user = operation.style % 4 == 0 ? operation.other_stream : stream;
  streams().begin(user, {&to.uses}, {&uses});
  launch_mix(user, temporary, to.data, 0, kWords, value);
  streams().begin(user, {&uses}, {&to.uses});
  launch_mix(user, to.data, temporary, operation.offset, operation.count, value);
  if (ordered) {
    streams().begin(stream, {}, {&uses}, false);
    CHECK_CUDA(cudaFreeAsync(temporary, streams().handle(stream)));
  } else {
    // cudaFree waits for what uses the memory, as every program relies on.
    const Device device(capture_lock);
    CHECK_CUDA(cudaFree(temporary));
  }
}

/// A graph of the program's own, which writes both buffers.
cudaGraphExec_t Worker::capture(Word* to, Word* from, Word value) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  {
    const std::unique_lock<std::shared_mutex> alone(capture_lock);
    CHECK_CUDA(cudaStreamBeginCapture(capture_stream_, cudaStreamCaptureModeThreadLocal));
    mix<<<blocks(1000), kBlock, 0, capture_stream_>>>(to, from, 7, 1000, value);
    CHECK_CUDA(cudaMemcpyAsync(from, to + 100, 500 * sizeof(Word), cudaMemcpyDeviceToDevice, capture_stream_));
    mix<<<blocks(2000), kBlock, 0, capture_stream_>>>(from, to, 0, 2000, value * 3);
    CHECK_CUDA(cudaMemsetAsync(to + 50, static_cast<int>(value & 0xff), 40, capture_stream_));
    mix<<<blocks(3000), kBlock, 0, capture_stream_>>>(to, from, 30, 3000, value * 5);
    CHECK_CUDA(cudaStreamEndCapture(capture_stream_, &graph));
  }
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  CHECK_CUDA(cudaGraphDestroy(graph));
  return executable;
}

void Worker::use_graph(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  const cudaStream_t handle = streams().handle(operation.stream);
  if (operation.kind == Kind::kGraph) {
    const OwnGraph& graph = graphs_[operation.graph];
    streams().begin(operation.stream, {}, {&buffers_[graph.to].uses, &buffers_[graph.from].uses});
    CHECK_CUDA(cudaGraphLaunch(graph.executable, handle));
    return;
  }
  cudaGraphExec_t once = capture(to.data, from.data, value);
  streams().begin(operation.stream, {}, {&to.uses, &from.uses});
  CHECK_CUDA(cudaGraphLaunch(once, handle));
  streams().wait(operation.stream, wait_of(operation));
  CHECK_CUDA(cudaGraphExecDestroy(once));
}

void Worker::measure(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  const cudaStream_t handle = streams().handle(operation.stream);
  streams().begin(operation.stream, {&from.uses}, {&to.uses});
  CHECK_CUDA(cudaEventRecord(before_, handle));
  launch_mix(operation.stream, to.data, from.data, operation.offset, operation.count, value);
  CHECK_CUDA(cudaEventRecord(after_, handle));
  CHECK_CUDA(cudaEventSynchronize(after_));
  float milliseconds = -1;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, before_, after_));
  if (!(milliseconds >= 0 && milliseconds < 60000)) {
    std::fprintf(stderr, "a kernel took %g ms\n", static_cast<double>(milliseconds));
    std::fflush(nullptr);
    std::_Exit(1);
  }
}

/// The host spins on memory that a kernel writes, and calls nothing meanwhile.
void Worker::spin(const Operation& operation, Word value) {
  streams().host_access(flag_uses_, true, Wait::kStream);
  volatile Word* flag = flag_;
  *flag = ~value;
  streams().begin(operation.stream, {}, {&flag_uses_});
  signal<<<1, 1, 0, streams().handle(operation.stream)>>>(flag_, value);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (*flag != value) {
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "a kernel was submitted 20 s ago and has not run\n");
      std::fflush(nullptr);
      std::_Exit(1);
    }
  }
}

void Worker::renew_buffer(const Operation& operation, Buffer& to, Word value) {
  if (operation.to < kKeptBuffers) return;
  streams().host_access(to.uses, true, wait_of(operation));
  {
    const Device device(capture_lock);
    CHECK_CUDA(cudaFree(to.data));
    CHECK_CUDA(cudaMalloc(&to.data, kBytes));
  }
  to.uses = {};
  streams().begin(operation.stream, {}, {&to.uses});
  CHECK_CUDA(cudaMemsetAsync(to.data, static_cast<int>(value & 0xff), kBytes, streams().handle(operation.stream)));
}

void Worker::renew_stream(const Operation& operation) {
  // The two default streams stay, and the priorities with them: only the plain ones are created again.
  const int stream = operation.style % 2 == 0 ? 2 : 3;
  streams().wait(stream, wait_of(operation));
  cudaStream_t& handle = created_[static_cast<std::size_t>(stream - 2)];
  CHECK_CUDA(cudaStreamDestroy(handle));
  CHECK_CUDA(cudaStreamCreateWithFlags(&handle, stream == 2 ? cudaStreamDefault : cudaStreamNonBlocking));
  streams().replace(stream, handle);
}

void Worker::give(Word* shared, cudaEvent_t given, cudaEvent_t taken) {
  const int stream = static_cast<int>(random_.below(static_cast<unsigned>(streams().count())));
  const cudaStream_t handle = streams().handle(stream);
  CHECK_CUDA(cudaStreamWaitEvent(handle, taken, 0));
  streams().begin(stream, {&buffers_[0].uses}, {});
  CHECK_CUDA(cudaMemcpyAsync(shared, buffers_[0].data, kBytes, cudaMemcpyDeviceToDevice, handle));
  CHECK_CUDA(cudaEventRecord(given, handle));
}

void Worker::take(const Word* shared, cudaEvent_t given, cudaEvent_t taken) {
  const int stream = static_cast<int>(random_.below(static_cast<unsigned>(streams().count())));
  const cudaStream_t handle = streams().handle(stream);
  CHECK_CUDA(cudaStreamWaitEvent(handle, given, 0));
  streams().begin(stream, {}, {&buffers_[1].uses});
  launch_mix(stream, buffers_[1].data, shared, 0, kWords, 1u);
  CHECK_CUDA(cudaEventRecord(taken, handle));
}

std::uint64_t Worker::checksum(std::vector<std::uint64_t>* parts) {
  const Device device(capture_lock);
  CHECK_CUDA(cudaDeviceSynchronize());
  streams().all_done();
  gpu_test::Checksum checksum = seen_;
  *parts = {seen_.value()};
  for (const Buffer& buffer : buffers_) {
    gpu_test::Checksum alone;
    alone.add_device(buffer.data, kWords);
    parts->push_back(alone.value());
  }
  for (const Buffer& buffer : pinned_) {
    gpu_test::Checksum alone;
    alone.add(buffer.data, kBytes);
    parts->push_back(alone.value());
  }
  parts->push_back(gates_checksum());
  for (const std::uint64_t part : *parts) checksum.add(&part, sizeof part);
  return checksum.value();
}

}  // namespace random_test
