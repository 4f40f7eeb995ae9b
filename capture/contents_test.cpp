// Contents of buffers: each piece is in the file once, no more than a file is to hold, and damaged references are
// refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <random>
#include <vector>

#include "capture/encode.h"
#include "capture/file_writer.h"
#include "env/log.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kPiece = format::kContentsPiece;

/// No part of it can be stored in fewer bytes.
Bytes noise(std::size_t bytes, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  std::ranges::generate(words, random);
  const auto made = std::as_bytes(std::span(words));
  return {made.begin(), made.end()};
}

/// How large a file is that `tell` makes.
std::uint64_t size_with(const std::string& file, const std::function<void(Recorder&)>& tell) {
  std::filesystem::remove(file);
  {
    const auto recorder = open(file, true);
    tell(*recorder);
  }
  return std::filesystem::file_size(file);
}

void expect_contents(const Capture& capture, ObjectId buffer, const Bytes& wanted) {
  INFO("buffer " << buffer);
  std::string error;
  Bytes read(wanted.size());
  REQUIRE(capture.read_contents(buffer, read, &error));
  CHECK((read == wanted));
}

TEST_CASE("equal contents are stored once, and are those of every buffer that has them") {
  TemporaryFile file;
  const Bytes first = noise(64 << 10U, 1), second = noise(64 << 10U, 2);
  const std::uint64_t one = size_with(file.name(), [&](Recorder& recorder) { recorder.contents(1, first); });
  const std::uint64_t several = size_with(file.name(), [&](Recorder& recorder) {
    recorder.contents(1, first);
    recorder.contents(2, second);
    recorder.contents(3, first);
    recorder.flush();
    recorder.contents(4, second);  // what it is equal to is in the file by now
    recorder.contents(5, first);
    recorder.contents(5, second);  // of a buffer what was told first counts
  });
  CHECK(several < 2 * one + 1024);
  const Capture capture = load(file.name());
  for (const ObjectId buffer : {1, 3, 5}) {
    expect_contents(capture, buffer, first);
  }
  for (const ObjectId buffer : {2, 4}) {
    expect_contents(capture, buffer, second);
  }
}

TEST_CASE("pieces of contents are shared, wherever they are") {
  TemporaryFile file;
  const Bytes a = noise(kPiece, 1), b = noise(kPiece, 2), rest = noise(512, 3);
  const auto joined = [](std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  // The beginning of the rest: another length is another piece.
  const Bytes shorter(rest.begin(), rest.begin() + 256);
  const std::vector<Bytes> buffers{joined({a, b, rest}), joined({b, a, shorter}), joined({a, a, a}), rest, shorter};
  const std::uint64_t size = size_with(file.name(), [&](Recorder& recorder) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      recorder.contents(i + 1, buffers[i]);
    }
  });
  CHECK(size < 2 * kPiece + 4096);
  const Capture capture = load(file.name());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    expect_contents(capture, i + 1, buffers[i]);
  }
}

TEST_CASE("no more contents are stored than the file is to hold, buffer by buffer") {
  TemporaryFile file;
  const Bytes large(format::kMaxContents), small(4096, std::byte{1});
  Bytes other(format::kMaxContents);
  for (std::size_t at = 0; at < other.size(); at += kPiece) {
    other[at] = static_cast<std::byte>(1 + at / kPiece);  // no two pieces of it are equal
  }
  {
    const auto recorder = open(file.name(), true);
    recorder->contents(1, large);  // zeros: one piece
    recorder->contents(2, other);  // so this does not fit
    recorder->contents(3, std::span(other).first(format::kMaxContents - kPiece));
    recorder->contents(4, small);  // nor does this
    recorder->contents(5, large);
    recorder->contents(6, Bytes(format::kMaxContents + 1));  // more than any buffer may have, whatever it is
  }
  const Capture capture = load(file.name());
  for (const ObjectId buffer : {1, 3, 5}) {
    CHECK(capture.has_contents(buffer));
  }
  for (const ObjectId buffer : {2, 4, 6}) {
    CHECK_FALSE(capture.has_contents(buffer));
  }
}

TEST_CASE("what is left out is said, at once and at the end") {
  TemporaryFile file, log;
  env::Settings settings;
  settings.log_file = log.name();
  env::open_log(settings);
  {
    const auto recorder = open(file.name(), true);
    recorder->leave_out_contents(std::uint64_t{300} << 20U);
    recorder->contents(2, Bytes(format::kMaxContents + (8U << 20U)));
  }
  env::open_log(env::Settings());
  const std::vector<char> bytes = bytes_of(log.name());
  const std::string said(bytes.begin(), bytes.end());
  INFO(said);
  CHECK(
      said.find("the contents of a buffer of 300 MiB are left out, and those of others that do not fit into 256 MiB") !=
      std::string::npos);
  CHECK(said.find("the contents of 2 buffers, 564 MiB, were left out") != std::string::npos);
}

/// A file with one piece of 64 bytes and references to it; why it is refused.
std::string refusal(const std::vector<ContentsReference>& references, std::size_t pieces_in_front = 1) {
  TemporaryFile file;
  std::string error;
  std::filesystem::remove(file.name());
  {
    FileWriter writer;
    REQUIRE(writer.open(file.name(), 0600, &error));
    for (std::size_t i = 0; i < pieces_in_front; ++i) {
      std::vector<std::uint8_t> piece(sizeof(format::ContentsHeader) + 64, 7);
      const format::ContentsHeader header{100 + i, 0};
      std::memcpy(piece.data(), &header, sizeof(header));
      REQUIRE(writer.append(format::RecordType::kContents, piece, &error));
    }
    const auto payload = encode::contents_references(references);
    REQUIRE(writer.append(format::RecordType::kContentsReferences, std::span(payload.data(), payload.size()), &error));
  }
  error.clear();
  const auto capture = read_capture(file.name(), &error);
  CHECK(capture.has_value() == error.empty());
  return error;
}

TEST_CASE("references to contents that make no sense are refused") {
  const auto says = [](const std::string& error, const char* why) {
    INFO(error);
    return error.find("makes no sense") != std::string::npos && error.find(why) != std::string::npos;
  };
  CHECK(refusal({{1, 0, 0}, {2, kPiece, 0}}).empty());
  CHECK(refusal({{1, 0, 1}}, 2).empty());
  CHECK(says(refusal({{1, 0, 0}}, 0), "a reference to contents that are not in front of it"));
  CHECK(says(refusal({{1, 0, 0}, {1, 0, 1}}), "a reference to contents that are not in front of it"));
  CHECK(says(refusal({{1, 0, ~std::uint32_t{0}}}), "a reference to contents that are not in front of it"));
  CHECK(says(refusal({{1, format::kMaxContents, 0}}), "lies outside its buffer"));
  CHECK(says(refusal({{1, ~std::uint64_t{0} - 63, 0}}), "lies outside its buffer"));
  // Reading what a few bytes name would take long.
  const std::size_t most = format::kMaxContents / kPiece;
  CHECK(refusal(std::vector<ContentsReference>(most, {1, 0, 0})).empty());
  CHECK(says(refusal(std::vector<ContentsReference>(most + 1, {1, 0, 0})), "too many contents of one buffer"));
}

TEST_CASE("a reference whose contents were overwritten since the file was opened is an error") {
  TemporaryFile file;
  const Bytes data = noise(4096, 1);
  size_with(file.name(), [&](Recorder& recorder) {
    recorder.contents(1, data);
    recorder.contents(2, data);
  });
  const Capture capture = load(file.name());
  expect_contents(capture, 2, data);
  std::vector<char> bytes = bytes_of(file.name());
  const auto* wanted = reinterpret_cast<const char*>(data.data());
  const auto place = std::search(bytes.begin(), bytes.end(), wanted, wanted + data.size());
  REQUIRE(place != bytes.end());
  *place = static_cast<char>(*place ^ 1);
  write_bytes(file.name(), bytes);
  std::string error;
  Bytes read(data.size());
  CHECK_FALSE(capture.read_contents(2, read, &error));
  INFO(error);
  CHECK(error.find("it was changed since it was opened") != std::string::npos);
}

}  // namespace
}  // namespace refrain::capture
