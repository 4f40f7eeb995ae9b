// Comes before every source of the mutation build (run). A planted fault n is `REFRAIN_MUTANT(n) ? changed : as it is`.
// Nothing but C, and no guard for statics: it is also compiled into what must not need more.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace refrain_mutation {

struct State {
  bool read;
  int active;              ///< number of the fault that is in; 0: none
  unsigned char* reached;  ///< a byte for each fault: its place was come by; null: nobody asks
};
inline State state{};

inline bool look_in(const char* environment, const char* end, char* value, size_t size, const char* name) {
  for (size_t length = strlen(name); environment < end; environment += strlen(environment) + 1) {
    if (strncmp(environment, name, length) == 0 && environment[length] == '=') {
      snprintf(value, size, "%s", environment + length + 1);
      return true;
    }
  }
  return false;
}

/// The variable as this process got it, or, as tests choose their children's environment, one of those it comes from.
inline bool find(const char* name, char* value, size_t size) {
  static char environment[1 << 17];
  int process = getpid();
  for (int generation = 0; generation < 8 && process > 1; ++generation) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", process);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t got = 0;
    for (ssize_t more = 1; file >= 0 && more > 0 && got<sizeof(environment) - 1; got += more> 0 ? more : 0) {
      more = read(file, environment + got, sizeof(environment) - 1 - got);
    }
    environment[got] = 0;
    if (file >= 0) {
      close(file);
    }
    if (look_in(environment, environment + got, value, size, name)) {
      return true;
    }
    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    process = 0;
    if (FILE* const stat = fopen(path, "re"); stat != nullptr) {
      char line[512] = "";
      const bool told = fgets(line, sizeof(line), stat) != nullptr;
      fclose(stat);
      const char* const behind_name = told ? strrchr(line, ')') : nullptr;
      process = behind_name != nullptr && strlen(behind_name) > 4 ? atoi(behind_name + 4) : 0;
    }
  }
  return false;
}

[[gnu::noinline, gnu::cold]] inline void read_state() {
  static char reading = 0;
  while (__atomic_test_and_set(&reading, __ATOMIC_ACQUIRE)) {  // let go of at the end: others find it read then
    usleep(100);
  }
  char value[512];
  state.active = find("MUTANT", value, sizeof(value)) ? atoi(value) : 0;
  if (find("MUTANT_REACHED", value, sizeof(value))) {
    const int file = open(value, O_RDWR | O_CLOEXEC);
    void* const mapped = file < 0 ? MAP_FAILED : mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    state.reached = mapped == MAP_FAILED ? nullptr : static_cast<unsigned char*>(mapped);
    if (file >= 0) {
      close(file);
    }
  }
  __atomic_store_n(&state.read, true, __ATOMIC_RELEASE);
  __atomic_clear(&reading, __ATOMIC_RELEASE);
}

inline bool is_in(int number) {
  if (!__atomic_load_n(&state.read, __ATOMIC_ACQUIRE)) {
    read_state();
  }
  if (state.reached != nullptr && state.reached[number] == 0) {
    state.reached[number] = 1;
  }
  return state.active == number;
}

constexpr bool on(int number) {
  if (__builtin_is_constant_evaluated()) {
    return false;
  }
  return is_in(number);
}

}  // namespace refrain_mutation

#define REFRAIN_MUTANT(number) (::refrain_mutation::on(number))
