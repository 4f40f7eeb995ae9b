// What the engine's own threads run on. test/policy links another machine.cpp (and clock.cpp), in which time is
// virtual and nothing runs by itself: there it calls GraphBuilder::build_oldest() and Watchdog::look() itself.
#pragma once

namespace refrain::replay {

/// True if background thread and watchdog are started when they are first needed. Thread-safe.
[[nodiscard]] bool starts_threads() noexcept;
/// Number of processors that the process was given, 1 if unknown. Thread-safe; slow, to be asked once.
[[nodiscard]] unsigned processors() noexcept;

}  // namespace refrain::replay
