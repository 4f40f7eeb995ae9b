// Files that somebody else names, read as a whole.
#pragma once

#include <cstddef>
#include <string>

namespace refrain::env {

/// The content of the regular file `path`, of at most `most` bytes. Never waits: what is no regular file (a FIFO would
/// block, a device has no end) is not read. False, and `why` says what is wrong, if that can't be done; nothing is in
/// `content` then. May throw std::bad_alloc.
bool read_regular_file(const std::string& path, std::size_t most, std::string* content, std::string* why);

}  // namespace refrain::env
