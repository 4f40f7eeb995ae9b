#include "layer/starter/candidates.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "env/secure_process.h"

namespace refrain::layer {
namespace {

#if defined(__x86_64__)
constexpr std::int32_t kCacheFlags = 0x0303;  // ELF, libc6, x86-64
#elif defined(__aarch64__)
constexpr std::int32_t kCacheFlags = 0x0a03;  // ELF, libc6, AArch64
#else
#error "Which entries of ld.so.cache are for this architecture?"
#endif

// The layout of the cache, from glibc's dl-cache.h.
constexpr char kCacheMagic[] = "glibc-ld.so.cache1.1";
struct CacheHeader {
  char magic[20];
  std::uint32_t count;
  std::uint32_t string_bytes;
  std::uint8_t flags;
  std::uint8_t padding[3];
  std::uint32_t extensions;
  std::uint32_t unused[3];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t key;    // offset of the name, from the header on
  std::uint32_t value;  // offset of the path
  std::uint32_t os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);

/// The zero-terminated text at `offset`; null if it doesn't end inside.
const char* text_at(const char* data, std::size_t bytes, std::size_t offset) {
  return offset < bytes && memchr(data + offset, '\0', bytes - offset) != nullptr ? data + offset : nullptr;
}

/// Whether that text is `text`, of `length`. Looks at no more than it has to: there are thousands of entries.
bool is_text(const char* data, std::size_t bytes, std::size_t offset, const char* text, std::size_t length) {
  return offset < bytes && length < bytes - offset && memcmp(data + offset, text, length + 1) == 0;
}

bool visit_in_folder(const char* folder, std::size_t length, const char* file, const Visitor& visitor) {
  char path[PATH_MAX];
  const std::size_t name = strlen(file);
  if (length == 0 || length + 1 + name >= sizeof(path)) {  // an empty one is the current directory: nobody has it there
    return false;
  }
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, file, name + 1);
  return visitor(path);
}

bool visit_cache_file(const char* file, const Visitor& visitor) {
  const int descriptor = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  void* const cache =
      bytes <= 0 ? MAP_FAILED : mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (cache == MAP_FAILED) {
    return false;
  }
  const bool done = visit_linker_cache(static_cast<const char*>(cache), static_cast<std::size_t>(bytes), file, visitor);
  munmap(cache, static_cast<std::size_t>(bytes));
  return done;
}

}  // namespace

bool visit_candidates(const char* file, const char* const* folders, std::size_t folder_count, const Visitor& visitor) {
  const char* place = env::in_secure_process() ? nullptr : getenv("LD_LIBRARY_PATH");
  while (place != nullptr && *place != '\0') {
    const std::size_t length = strcspn(place, ":;");
    if (visit_in_folder(place, length, file, visitor)) {
      return true;
    }
    place += length + (place[length] == '\0' ? 0 : 1);
  }
  if (visit_cache_file(file, visitor)) {
    return true;
  }
  for (std::size_t index = 0; index < folder_count; ++index) {
    if (visit_in_folder(folders[index], strlen(folders[index]), file, visitor)) {
      return true;
    }
  }
  return false;
}

bool visit_linker_cache(const char* cache, std::size_t bytes, const char* name, const Visitor& visitor) {
  // In front there may be a cache in the format of older linkers.
  constexpr std::size_t kMagicBytes = sizeof(kCacheMagic) - 1;
  while (bytes >= sizeof(CacheHeader) && memcmp(cache, kCacheMagic, kMagicBytes) != 0) {
    ++cache;
    --bytes;
  }
  if (bytes < sizeof(CacheHeader)) {
    return false;
  }
  CacheHeader header;
  memcpy(&header, cache, sizeof(header));
  const std::size_t room = (bytes - sizeof(header)) / sizeof(CacheEntry);
  const std::size_t count = header.count < room ? header.count : room;
  const std::size_t length = strlen(name);
  for (std::size_t index = 0; index < count; ++index) {
    CacheEntry entry;
    memcpy(&entry, cache + sizeof(header) + index * sizeof(entry), sizeof(entry));
    if ((entry.flags & 0xffff) != kCacheFlags || !is_text(cache, bytes, entry.key, name, length)) {
      continue;
    }
    const char* const path = text_at(cache, bytes, entry.value);
    if (path != nullptr && *path == '/' && visitor(path)) {
      return true;
    }
  }
  return false;
}

}  // namespace refrain::layer
