// Any bytes as a capture file: read, use all of what was read, show it in every form.
//
// A random file fails at its first checksum. So all files are tried as they are and then once more
// with framing repaired: magic, record numbers, sizes and checksums are made right, the rest stays.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "capture/dump.h"
#include "capture/reader.h"

namespace {

using namespace refrain::capture;

class Target {
 public:
  Target() : file_(::memfd_create("fuzz", MFD_CLOEXEC)), null_(std::fopen("/dev/null", "w")) {
    if (file_ < 0 || null_ == nullptr) {
      std::abort();
    }
    name_ = "/proc/self/fd/" + std::to_string(file_);
  }

  void run(const std::vector<std::byte>& bytes) {
    if (::ftruncate(file_, static_cast<off_t>(bytes.size())) != 0 ||
        ::pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
    std::string error;
    const auto capture = read_capture(name_, &error);
    if (!capture) {
      if (error.find(name_) == std::string::npos) {
        std::abort();  // an error must name the file
      }
      return;
    }
    use(*capture);
    const auto graph = capture->graphs.empty() ? std::nullopt : std::optional<std::uint32_t>(0);
    for (const auto format : {DumpFormat::kSummary, DumpFormat::kGraph, DumpFormat::kJson, DumpFormat::kDot,
                              DumpFormat::kTrace, DumpFormat::kExplain}) {
      run_dump({name_, format, graph}, null_, null_);
    }
  }

 private:
  void use(const Capture& capture) {
    std::uint64_t sum = 0;
    for (const StoredGraph& graph : capture.graphs) {
      for (std::uint32_t set = 0; set < graph.argument_sets(); ++set) {
        const Graph exact = graph.materialise(set);
        for (NodeIndex node = 0; node < exact.size(); ++node) {
          const OperationView operation = exact.operation(node);
          for (const std::byte byte : operation.bytes()) {
            sum += static_cast<std::uint64_t>(byte);
          }
          for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
            sum += operation.handle_of(i) + operation.value_of(i).size();
          }
          for (const NodeIndex next : exact.successors(node)) {
            sum += next > node ? 1 : throw 0;  // acyclic
          }
          sum += exact.queue_of(node).id;
        }
      }
    }
    std::vector<std::byte> contents(256);
    for (const auto& [id, buffer] : capture.buffers) {
      if (capture.has_contents(id)) {
        capture.read_contents(id, contents, nullptr);
      }
    }
    sink_ = sum;
  }

  int file_;
  std::FILE* null_;
  std::string name_;
  volatile std::uint64_t sink_ = 0;
};

std::vector<std::byte> repaired(std::vector<std::byte> bytes) {
  format::FileHeader header;
  if (bytes.size() < sizeof(header)) {
    return {};
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.magic = format::kMagic;
  header.version = format::kVersion;
  header.header_size = sizeof(header);
  header.checksum = format::checksum_of(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::size_t position = sizeof(header);
  for (std::uint32_t number = 0; bytes.size() - position >= sizeof(format::RecordHeader); ++number) {
    format::RecordHeader record;
    std::memcpy(&record, bytes.data() + position, sizeof(record));
    const std::size_t rest = bytes.size() - position - sizeof(record);
    const bool plain = record.stored_size >= record.raw_size;
    record.number = number;
    record.stored_size = static_cast<std::uint32_t>(std::min<std::size_t>(record.stored_size, rest));
    if (plain) {
      record.raw_size = record.stored_size;
    }
    const auto payload = std::span(bytes).subspan(position + sizeof(record), record.stored_size);
    record.checksum = format::checksum_of(record, payload);
    std::memcpy(bytes.data() + position, &record, sizeof(record));
    position += sizeof(record) + record.stored_size;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Target target;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  target.run(bytes);
  bytes = repaired(std::move(bytes));
  if (!bytes.empty()) {
    target.run(bytes);
  }
  return 0;
}
