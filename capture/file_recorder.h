// Writes what a running program submits to a capture file.
//
// A lane's thread only copies each record into its own chunk of memory. A background thread takes it from
// there: splits the stream into graphs, recognises what it has seen before, compresses, writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "capture/recorder.h"
#include "env/older_files.h"

namespace refrain::capture {

struct FileRecorderOptions {
  std::string file;       ///< a pattern, see env::FileName
  env::OlderFiles older;  ///< captures of which this one takes the place, once it has a submission
  unsigned mode = 0600;   ///< permissions of the file
  bool tells = true;      ///< says at the end what was written
  bool contents = false;  ///< store buffer contents (Recorder::wants_contents)
  /// Calls of which begin and end are told, the first ones of the program.
  std::uint64_t timed_calls = 0;
  /// Stretches that are left out first, of all lanes together, and for how long what comes then is captured; 0: to the
  /// end.
  std::uint64_t skipped_stretches = 0;
  std::chrono::milliseconds length{0};
  std::string command;  ///< the program's command line, for people; may be empty
  /// New work reaches the file within this time (a killed process loses no more), and within a
  /// hundredth of the run's length where only repeat counts have grown.
  std::chrono::milliseconds flush_interval{500};
  /// Bytes a lane may be ahead of the writer before it has to wait.
  std::size_t max_behind = std::size_t{64} << 20U;
};

/// Makes the file (or one with another name, where there is one already) and starts the writer. If that fails, returns
/// null and sets `error` to a sentence that names the file. Later failures (disk full) are logged once; then capture
/// stops, the lanes go on, and everything is a no-op. After fork() the child's copy is a no-op too.
/// Destroying the recorder writes everything, including stretches that no host call has ended.
std::unique_ptr<Recorder> open_file_recorder(const FileRecorderOptions& options, std::string* error);

}  // namespace refrain::capture
