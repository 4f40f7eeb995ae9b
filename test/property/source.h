// How each API writes what a step does, for source.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/property/program.h"

namespace property {

/// What a call names, as C++ expressions.
struct Names {
  std::string queue, to, from, value, words, version;
  bool to_pinned = false, from_pinned = false;
  std::vector<std::string> waits;  ///< in the call's own list; with an API that has none, calls of their own
  std::string event;               ///< the same
};

class Syntax {
 public:
  virtual ~Syntax() = default;
  [[nodiscard]] virtual std::string queue(const std::string& name, portable::QueueKind kind) const = 0;
  [[nodiscard]] virtual std::string memory(const std::string& name, portable::Place place) const = 0;
  [[nodiscard]] virtual std::string event(const std::string& name) const = 0;
  /// A step that needs no more than its names; `text` is one or more statements.
  [[nodiscard]] virtual std::string call(const Step& step, const Names& names) const = 0;
  [[nodiscard]] virtual std::string wait(const std::string& queue, const std::string& event) const = 0;
  [[nodiscard]] virtual std::string host_wait(const std::string& event) const = 0;
  [[nodiscard]] virtual std::string record(const std::string& queue, const std::string& event) const = 0;
  /// Whether waits and events can stand in the call's own list.
  [[nodiscard]] virtual bool has_lists() const = 0;
};

/// CUDA's driver API, or HIP. Null for an API that is neither.
std::unique_ptr<Syntax> stream_syntax(const std::string& api);
/// OpenCL, Level Zero.
std::unique_ptr<Syntax> list_syntax(const std::string& api);

}  // namespace property
