// Damaged, hostile and foreign files: noticed, named, and never worth much memory.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "capture/file_writer.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

/// Takes any bytes quickly: a file in memory with a name.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("refrain-test", MFD_CLOEXEC)) {
    REQUIRE(descriptor_ >= 0);
    name_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  void set(const std::vector<char>& bytes) const {
    REQUIRE(::ftruncate(descriptor_, static_cast<off_t>(bytes.size())) == 0);
    REQUIRE(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int descriptor_;
  std::string name_;
};

}  // namespace

TEST_CASE("damage at every byte is noticed") {
  TemporaryFile file;
  MemoryFile damaged;
  {
    const auto recorder = open(file.name(), true, 1000);
    describe_program(*recorder);
    for (const ObjectId buffer : {1, 2, 3}) {  // the last two become references
      recorder->contents(buffer, std::vector<std::byte>(64, std::byte{7}));
    }
    heat(recorder->open_stream(1), 30);
  }
  const std::vector<char> good = bytes_of(file.name());
  const Capture whole = load(file.name());
  REQUIRE(good.size() < 8192);
  const auto consistent = [&](const Capture& part) {
    // Whatever is read is part of the truth.
    REQUIRE(part.records < whole.records);
    REQUIRE(part.graphs.size() <= whole.graphs.size());
    for (std::size_t i = 0; i < part.graphs.size(); ++i) {
      REQUIRE(part.graphs[i].graph().fingerprint() == whole.graphs[i].graph().fingerprint());
    }
    for (const auto& [id, function] : part.functions) {
      REQUIRE(function.name == whole.functions.at(id).name);
    }
    for (const ObjectId buffer : {1, 2, 3}) {
      std::vector<std::byte> contents(64);
      REQUIRE((!part.has_contents(buffer) || part.read_contents(buffer, contents, nullptr)));
      REQUIRE((!part.has_contents(buffer) || contents == std::vector<std::byte>(64, std::byte{7})));
    }
    REQUIRE(submissions(part) <= submissions(whole));
  };
  for (std::size_t place = 0; place < good.size(); ++place) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::vector<char> bad = good;
      bad[place] = static_cast<char>(bad[place] ^ flip);
      damaged.set(bad);
      std::string error;
      const auto capture = read_capture(damaged.name(), &error);
      if (capture) {
        REQUIRE(capture->cut_short.find("after " + std::to_string(capture->records) + " records") != std::string::npos);
        consistent(*capture);
      } else {
        REQUIRE(error.find(damaged.name()) != std::string::npos);
        REQUIRE(place < sizeof(format::FileHeader));
      }
    }
    std::vector<char> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(place));
    damaged.set(cut);
    std::string error;
    const auto capture = read_capture(damaged.name(), &error);
    if (capture) {
      REQUIRE(capture->file_bytes == place);
      consistent(*capture);  // cut between two records there is nothing to notice
    } else {
      REQUIRE(place < sizeof(format::FileHeader));
    }
    cut.resize(good.size());  // zeros, as after a power failure
    damaged.set(cut);
    if (const auto zeroed = read_capture(damaged.name(), &error); zeroed && cut != good) {
      consistent(*zeroed);
    }
  }
}

TEST_CASE("records with a good checksum and bad contents are refused with their offset") {
  const auto refused = [](format::RecordType type, const std::vector<std::uint8_t>& payload) {
    TemporaryFile file;
    {
      FileWriter writer;
      std::string error;
      REQUIRE(writer.open(file.name(), 0600, &error));
      REQUIRE(writer.append(type, payload, &error));
    }
    std::string error;
    const bool read = read_capture(file.name(), &error).has_value();
    INFO(error);
    CHECK((read || error.find("offset 48") != std::string::npos));
    return !read;
  };
  CHECK(refused(format::RecordType::kGraphs, {}));
  CHECK(refused(format::RecordType::kGraphs, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(refused(format::RecordType::kContents, {1}));
  CHECK(refused(format::RecordType::kContentsReferences, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(refused(format::RecordType::kHistory, std::vector<std::uint8_t>(200, 0xFF)));
  CHECK_FALSE(refused(static_cast<format::RecordType>(999), {1, 2, 3}));  // a later version's
}

TEST_CASE("a small file cannot take much memory") {
  TemporaryFile file;
  std::vector<char> bytes(sizeof(format::FileHeader) + sizeof(format::RecordHeader) + 9);
  format::FileHeader header;
  header.checksum = format::checksum_of(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  format::RecordHeader record;
  record.type = 4;
  record.stored_size = 9;
  record.raw_size = 60U << 20U;  // the frame says something else
  const auto* stored = reinterpret_cast<const std::byte*>(bytes.data() + sizeof(header) + sizeof(record));
  record.checksum = format::checksum_of(record, std::span(stored, 9));
  std::memcpy(bytes.data() + sizeof(header), &record, sizeof(record));
  write_bytes(file.name(), bytes);
  std::string error;
  CHECK_FALSE(read_capture(file.name(), &error).has_value());
  CHECK(error.find("does not decompress") != std::string::npos);
}

TEST_CASE("what is no capture says so") {
  std::string error;
  CHECK_FALSE(read_capture("/nonexistent", &error));
  CHECK(error == "cannot read the capture file '/nonexistent': No such file or directory");
  CHECK_FALSE(read_capture("/tmp", &error));
  CHECK_FALSE(read_capture("/dev/zero", &error));
  CHECK(error.find("not a regular file") != std::string::npos);
  TemporaryFile file;
  CHECK_FALSE(read_capture(file.name(), &error));
  CHECK(error.find("empty") != std::string::npos);
  write_bytes(file.name(), std::vector<char>(100, 'x'));
  CHECK_FALSE(read_capture(file.name(), &error));
  CHECK(error.find("not a capture file") != std::string::npos);
}

}  // namespace refrain::capture
