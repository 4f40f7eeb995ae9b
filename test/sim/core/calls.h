// Calls into a face: logged, counted, made to fail. And violations: what a real driver would answer with undefined
// behaviour is one line on stderr, which fails the test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

void log(const char* text) noexcept;
__attribute__((format(printf, 1, 2))) void logf(const char* format, ...) noexcept;

__attribute__((format(printf, 1, 2))) void violation(const char* format, ...) noexcept;
/// `text`, and then what led there (history.h), line by line.
void report_violation(const char* text, const char* history) noexcept;
/// The texts of all violations since the last call of this (the first hundred), for tests inside one process.
std::vector<std::string> take_violations();

/// The face's initialisation (cuInit, hipInit, zeInit): from now on calls are allowed. False in a child of a process
/// that called it.
bool start() noexcept;

/// kEnded: the driver has ended itself, in a handler of exit() (SIM_END_AT).
enum class Entered { kOk, kNotStarted, kInjected, kEnded };
/// The beginning of every call that needs the initialisation, which must have been done in this process: logs it. Any
/// of them may be told to fail (SIM_FAIL_CALL), which the face reports as its error for "no resources".
Entered enter(const char* name) noexcept;
/// The same for calls that submit work, or make something that submitting needs: one of them may be told to fail
/// (SIM_FAIL_AT).
Entered enter_submission(const char* name) noexcept;

}  // namespace sim
