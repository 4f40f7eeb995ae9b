// The smallest capture with which `refrain bench` runs some graphs of another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::replay {

struct ExtractOptions {
  std::string file;                   ///< the capture
  std::string output;                 ///< name of the new one; a capture of that name is replaced
  std::vector<std::uint32_t> graphs;  ///< numbers as `refrain dump` shows them, at least one
  bool trust = false;                 ///< take what is in the file, whoever may have written it
};

/// What is in the new capture.
struct Extracted {
  std::uint64_t graphs = 0, argument_sets = 0, kernels = 0, buffers = 0;
  std::uint64_t with_contents = 0;  ///< of the buffers
  std::uint64_t bytes = 0;          ///< of the file
  std::string cut_short;            ///< why the old capture was not read to its end; empty: it was
};

/// Writes each graph once with each of its argument sets, what it names, and nothing else; graphs are numbered from 0
/// in the order of the old capture. The new one is the user's own, and the bench trusts it: so the old one must be the
/// user's, too, or ExtractOptions::trust set. Throws std::runtime_error, with a sentence that names the file: then
/// `output` is as it was.
Extracted extract(const ExtractOptions& options);

}  // namespace refrain::replay
