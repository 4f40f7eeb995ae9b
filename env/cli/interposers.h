// What others preload into programs, and in which order.
#pragma once

#include <string>
#include <vector>

namespace refrain::env {

/// A library that is preloaded and defines functions of a driver, or dlsym(): the program calls it in the driver's
/// place.
struct Interposer {
  std::string file;
  std::vector<std::string> functions;  ///< in alphabetical order
};

/// Which of the `preloaded` files, in their order, do so for functions whose names begin with `prefix` and go on with
/// a capital letter ("cu": cuInit). Files without a folder are looked up as the dynamic linker does.
std::vector<Interposer> find_interposers(const std::vector<std::string>& preloaded, const std::string& prefix);

/// The libraries that `file` names for every process, by default the dynamic linker's list. It loads them behind those
/// of LD_PRELOAD.
std::vector<std::string> preloaded_everywhere(const std::string& file = "/etc/ld.so.preload");

}  // namespace refrain::env
