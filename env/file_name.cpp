#include "env/file_name.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

namespace refrain::env {
namespace {

constexpr std::string_view kPlaceholders = "pnhrji%";

// In the order in which they stand inside one another: a job's script has a rank of SLURM, and what mpirun starts in it
// has one of its own as well.
constexpr std::initializer_list<const char*> kRanks = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
                                                       "PALS_RANKID"};
constexpr std::initializer_list<const char*> kJobs = {"SLURM_JOB_ID", "PBS_JOBID",    "LSB_JOBID",
                                                      "FLUX_JOB_ID",  "COBALT_JOBID", "PJM_JOBID"};

constexpr std::size_t kLongestPart = 100;

/// Part of a name: no folder, and nothing that a log would not show.
std::string part(std::string_view text) {
  std::string result(text.substr(0, kLongestPart));
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f; },
      '_');
  return FileName::literal(result);
}

std::string first_of(std::initializer_list<const char*> names, const Lookup& lookup) {
  for (const char* name : names) {
    if (const std::optional<std::string> value = lookup(name); value && !value->empty()) return part(*value);
  }
  return "0";
}

std::string host() {
  utsname system{};
  return ::uname(&system) == 0 ? part(system.nodename) : "localhost";
}

}  // namespace

FileName::FileName(std::string_view pattern, const Lookup& lookup) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'n': pattern_ += part(program_invocation_short_name); break;
      case 'h': pattern_ += host(); break;
      case 'r': pattern_ += first_of(kRanks, lookup); break;
      case 'j': pattern_ += first_of(kJobs, lookup); break;
      case 'i':
      case 'p':
      case '%': (pattern_ += '%') += next; break;
      default: pattern_ += pattern[i] == '%' ? "%%" : std::string(1, pattern[i]); continue;
    }
    counted_ = counted_ || next == 'i';
    fixed_ = fixed_ && next == '%';
    ++i;
  }
}

std::string FileName::text(unsigned number) const {
  std::string result;
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    if (pattern_[i] != '%') {
      result += pattern_[i];
      continue;
    }
    const char next = pattern_[++i];
    result += next == 'p' ? std::to_string(::getpid()) : next == 'i' ? std::to_string(number) : "%";
  }
  return result;
}

std::string FileName::free_text() const {
  struct stat status {};
  unsigned number = 1;
  while (counted_ && number < kMostNumbers && ::lstat(text(number).c_str(), &status) == 0) ++number;
  return text(number);
}

std::string FileName::problem(std::string_view pattern) {
  if (pattern == "-") {
    return "is not the name of a file; /dev/stdout is the standard output";
  }
  for (auto place = pattern.find('%'); place != std::string_view::npos; place = pattern.find('%', place + 2)) {
    const std::string_view placeholder = pattern.substr(place, 2);
    if (placeholder.size() < 2 || kPlaceholders.find(placeholder[1]) == std::string_view::npos) {
      return "has the unknown placeholder '" + std::string(placeholder) +
             "'; there are %p (process), %n (program), %h (host), %r (rank), %j (job), %i (counter) and %% (a percent "
             "sign)";
    }
  }
  return {};
}

std::string FileName::literal(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '%' ? std::string("%%") : std::string(1, c);
  return result;
}

}  // namespace refrain::env
