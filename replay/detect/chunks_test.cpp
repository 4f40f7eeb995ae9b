#include "replay/detect/chunks.h"

#include <bit>
#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

using namespace refrain::replay;

namespace {

std::uint64_t hash_of(const std::vector<Token>& tokens) {
  std::uint64_t hash = 0;
  for (const Token token : tokens) {
    hash = hash * kHashBase + token;
  }
  return hash;
}

std::uint32_t add(ChunkTable& table, const std::vector<Token>& tokens) {
  return table.add_site(hash_of(tokens), tokens.data(), 0, static_cast<std::uint32_t>(tokens.size()));
}

}  // namespace

TEST_CASE("equal contents are one chunk, wherever they stand") {
  ChunkTable table(64);
  const std::vector<Token> first{1, 2, 3};
  const std::vector<Token> second{1, 2, 3};
  const std::vector<Token> other{1, 2, 4};
  const std::uint32_t a = add(table, first);
  const std::uint32_t b = add(table, second);
  const std::uint32_t c = add(table, other);
  CHECK(table.site(a).id == table.site(b).id);
  CHECK(table.site(a).id != table.site(c).id);
  CHECK(table.count() == 2);
  CHECK(table.tokens_of(table.site(c).id) == other);
  table.remove_site(a);
  CHECK(table.take_evicted().empty());
  CHECK(table.tokens_of(table.site(b).id) == second);
  const ChunkId id = table.site(b).id;
  table.remove_site(b);
  CHECK(table.take_evicted() == std::vector<ChunkId>{id});
  CHECK(table.take_evicted().empty());
  CHECK(table.tokens_of(id).empty());
  CHECK(table.mode(id) == ChunkMode::kBypass);
  CHECK(table.count() == 1);
}

TEST_CASE("sequences that the hash cannot tell apart are told apart") {
  // Thue-Morse sequences of this length and their complements collide modulo 2^64 for every odd base.
  std::vector<Token> sequence(2048);
  std::vector<Token> complement(2048);
  for (std::uint32_t i = 0; i < sequence.size(); ++i) {
    sequence[i] = std::popcount(i) % 2 == 0 ? 7 : 9;
    complement[i] = 16 - sequence[i];
  }
  REQUIRE(hash_of(sequence) == hash_of(complement));
  ChunkTable table(64);
  const std::uint32_t a = add(table, sequence);
  const std::uint32_t b = add(table, complement);
  CHECK(table.site(a).id != table.site(b).id);
  CHECK(table.tokens_of(table.site(a).id) == sequence);
  CHECK(table.tokens_of(table.site(b).id) == complement);
}

TEST_CASE("ids are given in sequence, and again once they were taken") {
  ChunkTable table(64);
  std::set<ChunkId> seen;
  std::vector<std::vector<Token>> contents(3000, std::vector<Token>(4));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    contents[i] = {i, i + 1, 5, 6};
    const std::uint32_t site = add(table, contents[i]);
    CHECK(table.site(site).id == i);
    CHECK(seen.insert(table.site(site).id).second);
    if (i % 3 != 0) {
      table.remove_site(site);
    }
  }
  CHECK(table.count() == 1000);
  CHECK(table.evicted() == 2000);
  CHECK(table.take_evicted().size() == 2000);
  CHECK(table.evicted() == 0);
  CHECK(table.tokens_of(2999 - 2999 % 3) == contents[2999 - 2999 % 3]);
  std::vector<std::vector<Token>> others(2000, std::vector<Token>(4));
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i] = {i, i + 2, 7, 8};
    const ChunkId id = table.site(add(table, others[i])).id;
    CHECK(id < contents.size());
    CHECK(id % 3 != 0);  // nobody has it
    CHECK(table.tokens_of(id) == others[i]);
  }
  CHECK(table.count() == 3000);
}

TEST_CASE("modes are set by other threads, and only of chunks that are there") {
  ChunkTable table(64);
  table.set_initial_mode(ChunkMode::kRecord);
  std::vector<std::vector<Token>> contents(5000);
  std::atomic<std::uint32_t> made{0};
  std::thread other([&] {
    std::uint32_t done = 0;
    while (done < contents.size()) {
      for (const std::uint32_t until = made.load(); done < until; ++done) {
        table.set_mode(done, ChunkMode::kHold);
      }
      table.set_mode(4999, ChunkMode::kBypass);  // perhaps not there yet
      table.set_mode(kNoChunk, ChunkMode::kHold);
    }
  });
  std::vector<std::uint32_t> sites;
  for (std::uint32_t i = 0; i < contents.size(); ++i) {
    contents[i] = {i, 1, 2};
    sites.push_back(add(table, contents[i]));
    made.store(i + 1);
  }
  other.join();
  for (std::uint32_t i = 0; i + 1 < contents.size(); ++i) {
    CHECK(ChunkTable::mode_of(table.site(sites[i])) == ChunkMode::kHold);
  }
  table.remove_site(sites[17]);
  table.set_mode(17, ChunkMode::kHold);
  CHECK(table.mode(17) == ChunkMode::kBypass);
  CHECK(table.mode(123456) == ChunkMode::kBypass);
  CHECK(table.mode(kNoChunk) == ChunkMode::kBypass);
}
