// Files that somebody else names, read as a whole.
#pragma once

#include <cstddef>
#include <string>

namespace refrain::env {

/// Whose files are read: anybody's, or those that nobody but root and this user may write to.
enum class Writers : bool { kAny, kTrusted };

/// The content of the regular file `path`, of at most `most` bytes. Never waits: what is no regular file (a FIFO would
/// block, a device has no end) is not read. False, and `why` says what is wrong, if that can't be done; nothing is in
/// `content` then. May throw std::bad_alloc.
bool read_regular_file(const std::string& path, std::size_t most, std::string* content, std::string* why,
                       Writers writers = Writers::kAny);

}  // namespace refrain::env
