// Where `refrain ctl` finds the processes of a user: a socket for each API that a process uses, named PID.API, in a
// folder that only the user may look into.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace refrain::env {

/// Folders that may hold sockets of this user's processes, the best one first. They need not be there.
/// `runtime_dir`: $XDG_RUNTIME_DIR of the one who asks; empty: none.
std::vector<std::string> control_folders(uid_t user, const std::string& runtime_dir);

/// A folder that this process may have its socket in, made if need be. Empty if there is none: then nobody could tell
/// whether others had put something there.
std::string own_control_folder();

/// "FOLDER/PID.API"
std::string control_address(const std::string& folder, pid_t process, const std::string& api);

/// A process that can be reached.
struct ControlAddress {
  std::string socket;
  pid_t process = 0;
  std::string api;
};
/// Those of a user's folder, by process; of the folder of another one only root sees any.
std::vector<ControlAddress> control_addresses(uid_t user, const std::string& runtime_dir);

}  // namespace refrain::env
