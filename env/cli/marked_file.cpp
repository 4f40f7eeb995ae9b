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

/// Takes the place of `name` last, so that what was there stays if anything goes wrong.
std::error_code replace(const std::string& name, const std::string& text) {
  OwnFile file;
  if (const std::error_code error = file.create_beside(name, kMode)) return error;
  std::error_code error(file.write(text), std::generic_category());
  if (!error) error = file.rename_to(name);
  if (error) file.remove();
  return error;
}

/// Why there can be no file to take the place of `name`.
std::error_code obstacle_beside(const std::string& name) {
  OwnFile file;
  const std::error_code error = file.create_beside(name, kMode);
  if (!error) file.remove();
  return error;
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
  refuse(*this, obstacle_beside(name));
}

void MarkedFile::write(const std::string& text) const {
  check();
  refuse(*this, is_special(name) ? append(name, text) : replace(name, text));
}

}  // namespace refrain::env
