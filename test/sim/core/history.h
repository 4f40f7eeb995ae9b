// The last calls and submissions, printed with every violation: what led there.
#pragma once

#include <initializer_list>
#include <span>

#include "test/sim/core/task.h"

namespace sim {

struct Operation;

/// A call. `name` is kept: a literal.
void remember_call(const char* name) noexcept;
/// A submission. Of `after` the first few are kept; `queue`: whatever tells queues apart, or null.
void remember_submission(const Operation& operation, std::span<const std::shared_ptr<Operation>> after,
                         const void* queue) noexcept;

/// A violation (calls.h) in which these operations have a part: they are shown even if much came since.
__attribute__((format(printf, 2, 3))) void violation_of(std::initializer_list<std::uint64_t> operations,
                                                        const char* format, ...) noexcept;

/// The last entries as text, one a line, oldest first, and those of `operations` before them.
std::string history(std::span<const std::uint64_t> operations);

}  // namespace sim
