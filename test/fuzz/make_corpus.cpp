// Writes the first files of the corpus: capture_make_corpus FOLDER. Small captures of different programs,
// each as it is and once more uncompressed, so that a fuzzer can change what is inside.
#include <zstd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <vector>

#include "capture/file_recorder.h"
#include "capture/format.h"
#include "test/capture/records.h"

namespace {

using namespace refrain::capture;

void write(const std::filesystem::path& file, const std::vector<char>& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<char> uncompressed(const std::vector<char>& bytes) {
  std::vector<char> result(bytes.begin(), bytes.begin() + sizeof(format::FileHeader));
  for (std::size_t position = sizeof(format::FileHeader); position < bytes.size();) {
    format::RecordHeader header;
    std::memcpy(&header, bytes.data() + position, sizeof(header));
    position += sizeof(header);
    std::vector<char> raw(header.raw_size);
    if (header.stored_size == header.raw_size) {
      std::memcpy(raw.data(), bytes.data() + position, raw.size());
    } else {
      ZSTD_decompress(raw.data(), raw.size(), bytes.data() + position, header.stored_size);
    }
    position += header.stored_size;
    header.stored_size = header.raw_size;
    header.checksum = format::checksum_of(header, std::as_bytes(std::span(raw)));
    const auto* head = reinterpret_cast<const char*>(&header);
    result.insert(result.end(), head, head + sizeof(header));
    result.insert(result.end(), raw.begin(), raw.end());
  }
  return result;
}

void make(const std::filesystem::path& folder, const std::string& name, bool described,
          const std::function<void(Recorder&, Stream&, TestRecord&)>& program) {
  const std::filesystem::path file = folder / (name + ".capture");
  {
    FileRecorderOptions options;
    options.file = file;
    options.contents = true;
    options.timed_calls = 1000;
    options.command = "./" + name;
    std::string error;
    const auto recorder = open_file_recorder(options, &error);
    if (recorder == nullptr) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::exit(1);
    }
    if (described) {
      describe_program(*recorder);
    }
    TestRecord record;
    program(*recorder, recorder->open_stream(1), record);
  }
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  write(folder / (name + "-plain.capture"), uncompressed(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: capture_make_corpus FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  make(folder, "empty", false, [](Recorder&, Stream&, TestRecord&) {});
  make(folder, "described", true, [](Recorder&, Stream&, TestRecord&) {});
  make(folder, "once", false, [](Recorder&, Stream& stream, TestRecord& record) {
    stream.operation(record.kernel({}));
    stream.host_call("clFinish", 1);
  });
  make(folder, "loop", true, [](Recorder&, Stream& stream, TestRecord& record) {
    for (std::int32_t i = 0; i < 6; ++i) {
      stream.operation(record.kernel({.buffers = {1, 2}, .scalars = {i, 3}}));
      stream.operation(record.kernel({.function = 2, .buffers = {2}}));
      stream.host_call("clFinish", 1);
    }
  });
  make(folder, "nested", false, [](Recorder&, Stream& stream, TestRecord& record) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 3; ++j) {
        stream.operation(record.kernel({}));
        stream.host_call("clFinish", 1);
      }
      stream.operation(record.kernel({.function = 2}));
      stream.host_call("clWaitForEvents", 1);
    }
  });
  make(folder, "events", true, [](Recorder&, Stream& stream, TestRecord& record) {
    stream.operation(record.kernel({.sequence = 1}));
    stream.operation(
        record.kernel({.queue = 2, .waits = {kInternalWait | 1, 0x55, kInternalWait | 999}, .sequence = 2}));
    stream.operation(record.other(3, OperationKind::kBarrier, kWaitsForQueue | kBlocksQueue, 3));
    stream.operation(record.other(4, OperationKind::kCopyBuffer, 0, 4));
    stream.operation(record.other(5, OperationKind::kMap, kBlocking, 5));
    stream.host_call("clFinish", 1);
  });
  make(folder, "reasons", true, [](Recorder& recorder, Stream& stream, TestRecord& record) {
    const std::uint16_t marked = recorder.reason("its stream is marked");
    for (int i = 0; i < 4; ++i) {
      stream.operation(record.kernel({}));
      stream.operation(record.told(OperationKind::kFillBuffer, kAtOnce, marked));
      stream.operation(record.told(OperationKind::kMarker, kAtOnce | kBetween, recorder.reason("it stands between")));
      stream.host_call("clFinish", 1);
    }
  });
  make(folder, "contents", false, [](Recorder& recorder, Stream&, TestRecord&) {
    std::vector<std::byte> bytes(100, std::byte{7});
    BufferInfo buffer;
    buffer.id = 5;
    buffer.size = 100;
    buffer.is_image = true;
    buffer.description = {1, 2, 3};
    recorder.define(buffer);
    recorder.contents(5, bytes);
  });
  make(folder, "references", false, [](Recorder& recorder, Stream&, TestRecord&) {
    const std::vector<std::byte> one(100, std::byte{7}), other(60, std::byte{8});
    for (const ObjectId id : {1, 2, 3, 4, 5, 6, 7}) {
      BufferInfo buffer;
      buffer.id = id;
      buffer.size = 100;
      recorder.define(buffer);
      recorder.contents(id, id % 2 == 0 ? one : other);
      if (id == 6) {
        recorder.flush();  // what the last one is equal to is in an earlier record
      }
    }
  });
  make(folder, "lanes", false, [](Recorder& recorder, Stream& stream, TestRecord& record) {
    Stream& other = recorder.open_stream(2);
    for (int i = 0; i < 3; ++i) {
      stream.operation(record.kernel({}));
      stream.host_call("clFinish", 1);
      other.operation(record.kernel({.function = 3}));
      recorder.flush();  // open stretches, and histories told again
    }
  });
  make(folder, "random", false, [](Recorder&, Stream& stream, TestRecord& record) {
    std::mt19937 random(4);
    for (int i = 0; i < 12; ++i) {
      stream.operation(record.kernel({.function = 1 + random() % 3, .scalars = {static_cast<std::int32_t>(random())}}));
      if (random() % 2 == 0) {
        stream.host_call("clFinish", 1);
      }
    }
  });
  std::ofstream(folder / "text.capture") << "this is not a capture file, just some text that is long enough";
}
