#include "env/command_text.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::env {
namespace {

std::string full(const std::vector<std::string>& words) {
  return command_text(words, CommandChoice::kFull);
}

}  // namespace

TEST_CASE("a command line is told as it is, the program alone, or not") {
  const std::vector<std::string> words = {"./train", "--steps", "10", "--token=abc"};
  CHECK(command_text(words, CommandChoice::kFull) == "./train --steps 10 --token=***");
  CHECK(command_text(words, CommandChoice::kProgram) == "./train");
  CHECK(command_text(words, CommandChoice::kNone).empty());
  CHECK(command_text({}, CommandChoice::kProgram).empty());
}

TEST_CASE("secrets are never told") {
  CHECK(full({"p", "--password=a b"}) == "p --password=***");
  CHECK(full({"p", "--password", "abc", "x"}) == "p --password *** x");
  CHECK(full({"p", "--api-key", "-abc", "x"}) == "p --api-key *** x");
  CHECK(full({"env", "DB_PASSWORD=abc", "API_KEY=abc", "KEY=abc", "p"}) == "env DB_PASSWORD=*** API_KEY=*** KEY=*** p");
  CHECK(full({"p", "--apiKey=abc", "--clientSecret=abc", "--hf_token", "abc"}) ==
        "p --apiKey=*** --clientSecret=*** --hf_token ***");
  CHECK(full({"p", "-H", "Authorization: Bearer abc"}) == "p -H Authorization:***");
  CHECK(full({"p", "Authorization:", "abc"}) == "p Authorization: ***");
  CHECK(full({"sh", "-c", "TOKEN=abc ./p --x"}) == "sh -c TOKEN=***");
  CHECK(full({"sh", "-c", "./p --x --token abc"}) == "sh -c ./p --x --token ***");
  CHECK(full({"sh", "-c", "./p '--token=abc'"}) == "sh -c ./p '--token=***");
  CHECK(full({"p", "--db", "postgres://me:abc@host:5432/x?a@b"}) == "p --db postgres://me:***@host:5432/x?a@b");
  CHECK(full({"p", "--db", "postgres://me:a@b@host/x"}) == "p --db postgres://me:***@host/x");
  CHECK(full({"p", "--token"}) == "p --token");
}

TEST_CASE("what only looks like one is told") {
  for (const char* word : {"--max-new-tokens=512", "--tokenizer=bert", "--keyboard=us", "--key-frames=3", "--monkey=1",
                           "--compass=n", "http://host:80/x", "--bypass=1", "C:/x", "a=b:c"}) {
    CHECK(full({"p", word, "512"}) == "p " + std::string(word) + " 512");
  }
}

}  // namespace refrain::env
