// Streams that wait for the host, or for a kernel that another stream gets later; and launches that are refused.
#include "random_worker.h"

namespace random_test {

void Worker::make_gates() {
  for (Gate* gate : {&host_gate_, &queue_gate_}) {
    CHECK_CUDA(cudaMallocHost(&gate->opened, sizeof *gate->opened));
    *gate->opened = 0;
    CHECK_CUDA(cudaMalloc(&gate->counts, sizeof *gate->counts));
    CHECK_CUDA(cudaMemset(gate->counts, 0, sizeof *gate->counts));
  }
  CHECK_CUDA(cudaEventCreateWithFlags(&passed_, cudaEventDisableTiming));
}

void Worker::destroy_gates() {
  for (const Gate& gate : {host_gate_, queue_gate_}) {
    CHECK_CUDA(cudaFreeHost(gate.opened));
    CHECK_CUDA(cudaFree(gate.counts));
  }
  CHECK_CUDA(cudaEventDestroy(passed_));
}

/// One stream waits behind a gate while another one works, is waited for and asked. Both are streams that the legacy
/// one does not order. Nobody else may make a call meanwhile that waits for the whole device.
void Worker::use_gate(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  constexpr int kApart = 3;  // the first of the two streams that are of this kind
  const int behind = kApart + static_cast<int>(operation.style % 2);
  const int free = 2 * kApart + 1 - behind;
  if (!gated_) {
    streams().begin(operation.stream, {&from.uses}, {&to.uses});
    launch_mix(operation.stream, to.data, from.data, operation.offset, operation.count, value);
    return;
  }
  const bool by_host = operation.kind == Kind::kHostGate;
  const Gate& gate = by_host ? host_gate_ : queue_gate_;
  Buffer& third = buffers_[operation.third];
  const std::unique_lock<std::shared_mutex> alone(capture_lock);
  // Whatever orders the two comes before the gate, so that nothing of the other one gets behind it, and the gates of
  // one kind follow each other.
  streams().order_after(behind, free);
  streams().order_after(free, behind);
  streams().begin(behind, {&from.uses}, {&to.uses});
  launch_mix(behind, to.data, from.data, operation.offset, operation.count, value);
  CHECK_CUDA(cudaEventRecord(passed_, streams().handle(behind)));
  await_gate<<<1, 1, 0, streams().handle(behind)>>>(gate.opened, gate.counts);
  for (unsigned i = 0; i < 1 + operation.style % 3; ++i) {
    streams().begin(behind, {}, {&to.uses});
    turn<<<blocks(operation.count), kBlock, kBlock * sizeof(Word), streams().handle(behind)>>>(
        to.data, operation.offset, operation.count, value + i);
    streams().begin(free, {}, {&third.uses});
    turn<<<blocks(operation.count), kBlock, kBlock * sizeof(Word), streams().handle(free)>>>(
        third.data, operation.offset, operation.count, value - i);
  }
  if (!by_host) {
    open_gate<<<1, 1, 0, streams().handle(free)>>>(gate.opened);
    return;
  }
  if (operation.style / 6 % 2 == 0) streams().wait(free, wait_of(operation));
  if (operation.style / 12 % 2 == 0) CHECK_CUDA(cudaEventSynchronize(passed_));
  const cudaError_t status = cudaStreamQuery(streams().handle(behind));
  const unsigned char waits = status == cudaErrorNotReady ? 1 : 0;
  seen_.add(&waits, 1);
  (void)cudaGetLastError();  // "not ready" is remembered as an error
  volatile Word* opened = gate.opened;
  *opened = *opened + 1;
}

/// The driver refuses blocks of so many threads: nothing is launched.
void Worker::refuse(const Operation& operation, Buffer& to, Buffer& from, Word value) {
  mix<<<1, 2048, 0, streams().handle(operation.stream)>>>(to.data, from.data, 0, 1, value);
  const unsigned char refused = cudaGetLastError() != cudaSuccess ? 1 : 0;
  seen_.add(&refused, 1);
}

/// How often a gate was not opened in time; 0 without Refrain.
std::uint64_t Worker::gates_checksum() const {
  std::uint64_t late = 0;
  for (const Gate& gate : {host_gate_, queue_gate_}) {
    GateCounts counts{};
    CHECK_CUDA(cudaMemcpy(&counts, gate.counts, sizeof counts, cudaMemcpyDeviceToHost));
    late += counts.late;
  }
  return late;
}

}  // namespace random_test
