// Functions that the C library which releases are linked with (2.27) does not have, for what is compiled with newer
// headers and with a newer compiler's libraries. With REFRAIN_FOR_OLDER_C_LIBRARY they have the C library's names, and
// env/release makes that a part of what it links with (docs/decisions/0021-releases-for-older-systems.md). Where the
// process's C library has a function it is called. Stands alone: nothing else of ours, and nothing of the C++ library.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace refrain::env::newer {

using CondClockwait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
using SemClockwait = int (*)(sem_t*, clockid_t, const timespec*);
using MutexClocklock = int (*)(pthread_mutex_t*, clockid_t, const timespec*);

namespace {

constexpr long kSecond = 1000000000;

timespec later(timespec start, timespec by) noexcept {
  timespec sum{start.tv_sec + by.tv_sec, start.tv_nsec + by.tv_nsec};
  if (sum.tv_nsec >= kSecond) {
    ++sum.tv_sec;
    sum.tv_nsec -= kSecond;
  }
  return sum;
}

/// What is left until then; nothing if it is over.
timespec left_until(clockid_t clock, const timespec& until) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  timespec left{until.tv_sec - now.tv_sec, until.tv_nsec - now.tv_nsec};
  if (left.tv_nsec < 0) {
    --left.tv_sec;
    left.tv_nsec += kSecond;
  }
  return left.tv_sec < 0 ? timespec{} : left;
}

bool is_over(const timespec& left) noexcept {
  return left.tv_sec == 0 && left.tv_nsec == 0;
}

/// The same moment by the wall clock, if nobody sets that.
timespec by_wall_clock(const timespec& left) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return later(now, left);
}

bool is_known(clockid_t clock, const timespec* until) noexcept {
  return (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) && until->tv_nsec >= 0 && until->tv_nsec < kSecond;
}

}  // namespace

/// A wait that ends early, because the wall clock was set, ends as one that was woken: callers look again.
int cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  if (!is_known(clock, until)) {
    return EINVAL;
  }
  const timespec end = clock == CLOCK_REALTIME ? *until : by_wall_clock(left_until(clock, *until));
  const int result = pthread_cond_timedwait(condition, mutex, &end);
  return result == ETIMEDOUT && !is_over(left_until(clock, *until)) ? 0 : result;
}

int mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  if (!is_known(clock, until)) {
    return EINVAL;
  }
  for (;;) {
    const timespec end = clock == CLOCK_REALTIME ? *until : by_wall_clock(left_until(clock, *until));
    const int result = pthread_mutex_timedlock(mutex, &end);
    if (result != ETIMEDOUT || is_over(left_until(clock, *until))) {
      return result;
    }
  }
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (!is_known(clock, until)) {
    errno = EINVAL;
    return -1;
  }
  for (;;) {
    const timespec end = clock == CLOCK_REALTIME ? *until : by_wall_clock(left_until(clock, *until));
    const int result = sem_timedwait(semaphore, &end);
    if (result == 0 || errno != ETIMEDOUT || is_over(left_until(clock, *until))) {
      return result;
    }
  }
}

uint32_t random_number() noexcept {
  uint32_t number = 0;
  while (getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
  }
  return number;
}

/// As glibc 2.35 declares it for this processor.
struct FoundObject {
  unsigned long long flags;
  void* begin;
  void* end;
  link_map* map;
  void* unwind_table;
  unsigned long long reserved[7];
};

/// 0: found. The link map is left out: libgcc, which asks, does not look at it.
int find_object(void* address, FoundObject* found) noexcept {
  struct Search {
    uintptr_t address;
    FoundObject* found;
  } search{reinterpret_cast<uintptr_t>(address), found};
  const auto look = [](dl_phdr_info* object, size_t, void* data) {
    const Search* const wanted = static_cast<Search*>(data);
    uintptr_t begin = UINTPTR_MAX;
    uintptr_t end = 0;
    uintptr_t table = 0;
    for (unsigned index = 0; index < object->dlpi_phnum; ++index) {
      const ElfW(Phdr)& part = object->dlpi_phdr[index];
      const uintptr_t place = object->dlpi_addr + part.p_vaddr;
      if (part.p_type == PT_LOAD) {
        begin = place < begin ? place : begin;
        end = place + part.p_memsz > end ? place + part.p_memsz : end;
      } else if (part.p_type == PT_GNU_EH_FRAME) {
        table = place;
      }
    }
    if (wanted->address < begin || wanted->address >= end || table == 0) {
      return 0;
    }
    *wanted->found = {};
    wanted->found->begin = reinterpret_cast<void*>(begin);
    wanted->found->end = reinterpret_cast<void*>(end);
    wanted->found->unwind_table = reinterpret_cast<void*>(table);
    return 1;
  };
  return dl_iterate_phdr(look, &search) != 0 ? 0 : -1;
}

}  // namespace refrain::env::newer

#if REFRAIN_FOR_OLDER_C_LIBRARY
#pragma GCC visibility push(hidden)
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

namespace {

namespace newer = refrain::env::newer;

newer::CondClockwait process_cond_clockwait = &newer::cond_clockwait;
newer::SemClockwait process_sem_clockwait = &newer::sem_clockwait;
newer::MutexClocklock process_mutex_clocklock = &newer::mutex_clocklock;

/// What has these functions, and not whoever took their names, who may be faking the time (layer/own_bindings.h). Until
/// glibc 2.34 that is the first one; it knows of the other.
void* c_library() noexcept {
  constexpr const char* kNames[] = {"libpthread.so.0", "libc.so.6"};
  for (const char* const name : kNames) {
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
      return library;
    }
  }
  return RTLD_DEFAULT;
}

template <class Function>
void find(void* library, const char* name, Function* function) noexcept {
  if (void* const found = dlsym(library, name); found != nullptr) {
    *function = reinterpret_cast<Function>(found);
  }
}

/// When we are loaded, not when the first thread waits: another one may then hold the dynamic linker's lock, and wait
/// for it.
[[gnu::constructor]] void find_in_process() noexcept {
  if (&dlopen == nullptr || &dlsym == nullptr || &dlerror == nullptr) {
    return;
  }
  void* const library = c_library();
  find(library, "pthread_cond_clockwait", &process_cond_clockwait);
  find(library, "sem_clockwait", &process_sem_clockwait);
  find(library, "pthread_mutex_clocklock", &process_mutex_clocklock);
  static_cast<void>(dlerror());  // the program's next one is its own
}

}  // namespace

// Headers may declare them in other words: these are names for the linker only.
#define REFRAIN_NAMED(name) __asm__(#name)

extern "C" {

/// False: there may be other threads.
char refrain_single_threaded REFRAIN_NAMED(__libc_single_threaded) = 0;

int refrain_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)
    REFRAIN_NAMED(pthread_cond_clockwait);
int refrain_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  return process_cond_clockwait(condition, mutex, clock, until);
}
int refrain_mutex_clocklock(pthread_mutex_t*, clockid_t, const timespec*) REFRAIN_NAMED(pthread_mutex_clocklock);
int refrain_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  return process_mutex_clocklock(mutex, clock, until);
}
int refrain_sem_clockwait(sem_t*, clockid_t, const timespec*) REFRAIN_NAMED(sem_clockwait);
int refrain_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return process_sem_clockwait(semaphore, clock, until);
}
int refrain_statx(int, const char*, int, unsigned, void*) REFRAIN_NAMED(statx);
int refrain_statx(int folder, const char* path, int flags, unsigned mask, void* status) {
  return static_cast<int>(syscall(SYS_statx, folder, path, flags, mask, status));
}
uint32_t refrain_random() REFRAIN_NAMED(arc4random);
uint32_t refrain_random() {
  return newer::random_number();
}
int refrain_find_object(void*, newer::FoundObject*) REFRAIN_NAMED(_dl_find_object);
int refrain_find_object(void* address, newer::FoundObject* found) {
  return newer::find_object(address, found);
}
}
#pragma GCC visibility pop
#endif
