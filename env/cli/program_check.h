// What can be told about a command from outside: its file, and which libraries its processes loaded.
#pragma once

#include <string>
#include <vector>

namespace refrain::env {

struct ProgramFile {
  std::string path;      ///< where PATH leads; empty if there is no such command
  std::string obstacle;  ///< why no library can be put into it, as a clause; empty if nothing is in the way
  std::string note;      ///< "a script, run by /bin/sh"
  std::string image;     ///< the name of the executable file that runs at first, of a script its interpreter's
  bool starts = false;   ///< it is executable, whatever is in it
};

/// Looks at the file that `command` would execute.
ProgramFile check_program(const std::string& command);

/// The libraries of one process, from the dynamic linker's own account (LD_DEBUG=files).
struct ProcessTrace {
  std::string process;       ///< its number
  std::string program;       ///< as it was started; empty if that is not known
  std::string loader;        ///< path of its libOpenCL.so, if it has one
  std::string driver;        ///< an OpenCL driver that it opened by itself, without a loader
  bool layer_found = false;  ///< the layer's file was opened
  bool layer_ready = false;  ///< and initialised
};

/// Reads the files that the dynamic linker wrote into `folder`, one per process.
std::vector<ProcessTrace> read_traces(const std::string& folder, const std::string& layer);

/// The same for the text of one of the files.
ProcessTrace read_trace(std::istream& text, const std::string& layer);

}  // namespace refrain::env
