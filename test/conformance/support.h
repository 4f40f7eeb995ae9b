// What the rows need: programs of this suite plain and under the layer, what the simulated device saw of them, graphs
// captured from them, and the verdict, which is written for ./generate.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "capture/model.h"
#include "test/portable/device.h"

namespace conformance {

namespace capture = refrain::capture;
using portable::Feature;
using Settings = std::map<std::string, std::string>;

/// No shorter chunks are tried, and the limit is so long that a machine with other things to do does not come to it.
inline const Settings kWholeChunks{
    {"REFRAIN_CHUNK_FIRST", "64"}, {"REFRAIN_CHUNK_MAX", "64"}, {"REFRAIN_HOLD_LIMIT_US", "20000"}};

/// The API that this run is about: the environment variable CONFORMANCE_API. Results are its column's, or, where
/// another driver of the API has one, CONFORMANCE_COLUMN's.
const std::string& api();
/// Whether its device is the simulated one, which tells every call.
bool simulated();
/// Null if the API can express it; else why not.
const char* cannot(Feature feature);

struct Run {  // NOLINT(bugprone-exception-escape): JSON that is null is made without throwing
  int exit_code = -1;
  std::string output, errors;
  nlohmann::json report;                              ///< empty if there was none
  std::vector<std::string> calls;                     ///< of the driver's functions; only with the simulated device
  [[nodiscard]] long number(const char* name) const;  ///< of the report; 0 if it is not there
  /// Driver calls whose name begins so, in the last `share` of the log.
  [[nodiscard]] std::size_t calls_of(const std::string& prefix, double share = 1.0) const;
};

Run run_plain(const std::string& program, int seed = 1);
/// Gate off, unless the settings say otherwise.
Run run_layer(const std::string& program, const Settings& settings = {}, int seed = 1);

/// Runs the program plain and under the layer, with several schedules; requires the same output and no violation, and
/// that so many submissions were replayed. Returns the run that replayed most.
Run same(const std::string& program, long least_replayed, const Settings& settings = {});

/// OpenCL: what the device offers of mutable dispatch, as the report says: "global_size", "nothing".
std::string offered_changes(const Run& run);

/// What the program submits.
capture::Capture captured(const std::string& program);
/// The graph that occurs most often in it, among those with at least `nodes` nodes.
const capture::StoredGraph& most_frequent(const capture::Capture& capture, std::size_t nodes);

/// Text on what one row means for the API; written when the test ends. If it ends without one, the row fails.
class Verdict {
 public:
  Verdict(const char* section, const char* words) : section_(section), words_(words) {}
  ~Verdict();
  Verdict(const Verdict&) = delete;
  Verdict& operator=(const Verdict&) = delete;
  void passes(const std::string& note = "") { set("passes", note); }
  void cannot_express(const std::string& reason) { set("cannot express", reason); }
  void limit(const std::string& reason) { set("limit", reason); }
  /// If the API cannot express the feature the verdict is that, and the answer true.
  bool lacks(Feature feature);

 private:
  void set(const char* status, const std::string& note);
  void write() const;
  std::string section_, words_, status_ = "FAILS", note_;
};

/// A test with the row's words for its name; `section` is a variable of that name.
#define ROW_NAMED(function, words)                       \
  static void function(::conformance::Verdict& verdict); \
  TEST_CASE(words) {                                     \
    ::conformance::Verdict verdict(kSection, words);     \
    function(verdict);                                   \
  }                                                      \
  static void function([[maybe_unused]] ::conformance::Verdict& verdict)
#define ROW_JOINED(line, words) ROW_NAMED(row_##line, words)
#define ROW_AT(line, words) ROW_JOINED(line, words)
#define ROW(words) ROW_AT(__LINE__, words)

}  // namespace conformance
