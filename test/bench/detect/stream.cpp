#include "test/bench/detect/stream.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace refrain::bench {
namespace {

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t start = std::min(line.find_first_not_of(kBlank), line.size());
  const std::size_t end = std::min(line.find_first_of(kBlank, start), line.size());
  const std::string_view word = line.substr(start, end - start);
  line.remove_prefix(end);
  return word;
}

bool parse(std::string_view word, std::uint64_t& value) {
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  if (hexadecimal) {
    word.remove_prefix(2);
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hexadecimal ? 16 : 10);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

Stream read_stream(std::istream& input, const std::string& name) {
  Stream stream;
  std::unordered_map<std::uint64_t, std::uint32_t> threads;
  std::string text;
  std::uint64_t number = 0;
  while (std::getline(input, text)) {
    ++number;
    std::string_view line = text;
    const std::string_view token_word = next_word(line);
    const std::string_view thread_word = next_word(line);
    const std::string_view rest = next_word(line);
    if (token_word.empty()) {
      continue;
    }
    Entry entry;
    std::uint64_t thread = 0;
    if (!parse(token_word, entry.token) || (!thread_word.empty() && !parse(thread_word, thread)) || !rest.empty()) {
      throw std::runtime_error(
          fmt::format("{}:{}: expected a token (a number from 0 to 2^64-1; 0 is a host call) and optionally "
                      "a thread number, got '{}'",
                      name, number, text.substr(0, 60)));
    }
    const auto [place, added] = threads.try_emplace(thread, static_cast<std::uint32_t>(threads.size()));
    if (added) {
      stream.threads.push_back(thread);
    }
    entry.thread = place->second;
    stream.operations += entry.token != capture::kHostCallToken ? 1 : 0;
    stream.entries.push_back(entry);
  }
  if (input.bad()) {
    throw std::runtime_error(fmt::format("{}: reading failed after line {}", name, number));
  }
  return stream;
}

}  // namespace refrain::bench
