#include "env/cli/marked_file.h"

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>
#include <system_error>

#include "env/own_file.h"

namespace refrain::env {
namespace {

constexpr mode_t kMode = 0600;  // it tells what a capture tells

bool is_marked(const MarkedFile& marked) {
  std::string first, second;
  std::ifstream in(marked.name, std::ios::binary);
  return std::getline(in, first) && std::getline(in, second) && second == marked.mark;
}

/// Something that can't be replaced, such as a descriptor that the user named.
bool is_special(const std::string& name) {
  struct stat status {};
  return ::lstat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

std::error_code append(const std::string& name, const std::string& text) {
  OwnFile file;
  if (const std::error_code error = file.append_to(name, kMode)) return error;
  return {file.write(text), std::generic_category()};
}

void refuse(const MarkedFile& marked, const std::error_code& error) {
  if (!error) return;
  throw std::runtime_error(std::string("can't write the ") + marked.kind + " to '" + marked.name +
                           "': " + error.message());
}

}  // namespace

void MarkedFile::check() const {
  if (is_special(name)) return refuse(*this, OwnFile::obstacle(name));
  struct stat status {};
  if (::lstat(name.c_str(), &status) == 0 && status.st_size != 0 && !is_marked(*this)) {
    throw std::runtime_error("'" + name + "' is there already, and no " + kind + " of Refrain's; it stays as it is");
  }
  refuse(*this, OwnFile::obstacle_to_replace(name));
}

void MarkedFile::write(const std::string& text) const {
  check();
  refuse(*this, is_special(name) ? append(name, text) : OwnFile().replace(name, kMode, text));
}

}  // namespace refrain::env
