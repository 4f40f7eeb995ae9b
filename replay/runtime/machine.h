// What the engine's own threads run on. test/policy links another machine.cpp (and clock.cpp), in which time is
// virtual and nothing runs by itself: there it calls GraphBuilder::build_oldest() and Watchdog::look() itself.
#pragma once

#include <pthread.h>

namespace refrain::replay {

/// True if background thread and watchdog are started when they are first needed. Thread-safe.
[[nodiscard]] bool starts_threads() noexcept;
/// Number of processors, 1 if unknown. Thread-safe; slow, to be asked once.
[[nodiscard]] unsigned processors() noexcept;
/// To be called for each thread of the engine's own by the thread that started it. It has that one's processors, and
/// that is the program's, which may have bound itself to one of them (OpenMP, MPI): there this one would only be in its
/// way, or not get a turn. So it gets those that the library was loaded with.
void unbind(pthread_t thread) noexcept;

}  // namespace refrain::replay
