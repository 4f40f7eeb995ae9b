#include "env/cli/interposers.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "env/cli/elf_file.h"
#include "layer/library_search.h"

namespace refrain::env {
namespace {

std::string find_file(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const std::vector<std::string> found = layer::find_libraries({{}, name, {}, {}});
  return found.empty() ? name : found.front();
}

}  // namespace

std::vector<Interposer> find_interposers(const std::vector<std::string>& preloaded, const std::string& prefix) {
  std::vector<Interposer> found;
  for (const std::string& name : preloaded) {
    Interposer interposer{find_file(name), {}};
    ElfFile file(interposer.file);
    for (const std::string& function : file&& file.has_64_bits() ? file.exported_names() : std::vector<std::string>()) {
      const bool of_driver = function.size() > prefix.size() && function.starts_with(prefix) &&
                             std::isupper(static_cast<unsigned char>(function[prefix.size()])) != 0;
      if (of_driver || function == "dlsym") interposer.functions.push_back(function);
    }
    std::sort(interposer.functions.begin(), interposer.functions.end());
    if (!interposer.functions.empty()) found.push_back(std::move(interposer));
  }
  return found;
}

std::vector<std::string> preloaded_everywhere(const std::string& file) {
  std::vector<std::string> found;
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; std::getline(words >> std::ws, word, ' ');) {
      std::istringstream names(word);
      for (std::string name; std::getline(names, name, ':');) {
        name.erase(std::remove_if(name.begin(), name.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
                   name.end());
        if (!name.empty()) found.push_back(name);
      }
    }
  }
  return found;
}

}  // namespace refrain::env
