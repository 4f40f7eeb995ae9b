// Every function whose name says that it sets something is decided: in the table "State" of docs/apis/*.md, from which
// its class in the entry points follows.

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(SOURCE_FOLDER "/") + path);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Name → class.
std::map<std::string, std::string> entry_points(const std::string& api) {
  std::string text = text_of("layer/" + api + "/entry_points.def");
  if (api == "cuda") {
    text += text_of("layer/cuda/extra_entry_points.def");
  }
  std::map<std::string, std::string> found;
  const std::regex line(R"((?:^|\n)([A-Z]+)\((\w+))");
  for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match) {
    found[(*match)[2]] = (*match)[1];
  }
  return found;
}

/// Name → how it reaches the token, of the table.
std::map<std::string, std::string> table(const std::string& file) {
  const std::string text = text_of("docs/" + file);
  const std::size_t start = text.find("\n## State\n");
  REQUIRE(start != std::string::npos);
  const std::string section = text.substr(start, text.find("\n## ", start + 2) - start);
  std::map<std::string, std::string> found;
  const std::regex row(R"(\n\| (`[^|]*) \| [^|]* \| ([^|]*) \|)");
  const std::regex name(R"(`(\w+)`)");
  for (std::sregex_iterator match(section.begin(), section.end(), row), end; match != end; ++match) {
    const std::string names = (*match)[1];
    for (std::sregex_iterator each(names.begin(), names.end(), name), none; each != none; ++each) {
      found[(*each)[1]] = (*match)[2];
    }
  }
  return found;
}

/// Graphs of the program's own, compilers, tools and the program's own batches set nothing that submissions have.
bool looks_like_a_setter(const std::string& name) {
  static const std::regex sets("Set[A-Z]|Enable|Disable|Advi[sc]e|CopyAttributes|Hint|Resident|Evict|Reset[A-Z]");
  static const std::regex others("Graph|^hiprtc|^zet");
  return std::regex_search(name, sets) && !std::regex_search(name, others);
}

void check(const std::string& api, const std::string& file) {
  const auto functions = entry_points(api);
  const auto decided = table(file);
  CHECK(functions.size() > 50);
  for (const auto& [name, kind] : functions) {
    CAPTURE(name, kind);
    if (looks_like_a_setter(name)) {
      CHECK(decided.contains(name));
    }
    if (kind == "SETTER") {
      REQUIRE(decided.contains(name));
      CHECK(decided.at(name).find("each call is another state") != std::string::npos);
    }
  }
  for (const auto& [name, how] : decided) {
    CAPTURE(name, how);
    REQUIRE(functions.contains(name));
    if (how.starts_with("nothing")) {
      CHECK(functions.at(name) != "SETTER");
    } else {
      CHECK(functions.at(name) != "NEUTRAL");
      CHECK((functions.at(name) != "HOST" || api == "opencl"));
    }
  }
}

}  // namespace

TEST_CASE("setters: every one of each API is decided", "[promise-4]") {
  check("cuda", "apis/cuda.md");
  check("hip", "apis/hip.md");
  check("level_zero", "apis/level_zero.md");
  check("opencl", "apis/opencl.md");
}
