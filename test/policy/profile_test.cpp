// What a profile brings, and what a wrong one costs, in virtual time: the same run gives the same nanoseconds.
#include <catch2/catch.hpp>
#include <string>

#include "test/policy/program.h"
#include "test/support/scratch_folder.h"

namespace refrain::policy {
namespace {

RunResult run(const Program& program, const std::string& profile, std::uint64_t calls) {
  env::Settings settings;
  settings.report = false;
  settings.profile = profile;
  return run_engine(program, h200(), settings, calls, 0);
}

struct Case {
  Kind kind;
  Ns host, device;
  std::size_t launches;
  std::uint64_t calls;  ///< of a run
};
/// Programs that live for a tenth of a second to a second.
constexpr Case kShort[] = {{Kind::kConstant, 1000, 500, 100, 100'000},     {Kind::kConstant, 1000, 3000, 1000, 100'000},
                           {Kind::kScalar, 1000, 500, 100, 100'000},       {Kind::kForkJoin, 1000, 500, 100, 100'000},
                           {Kind::kFramework, 10'000, 3000, 1000, 50'000}, {Kind::kInner, 1000, 500, 1000, 100'000}};

/// What a wrong profile costs it costs once, some milliseconds: so many times as long.
constexpr std::uint64_t kLonger = 8;

}  // namespace

TEST_CASE("with a profile a program that lives for a second is faster, or as fast") {
  for (const Case& each : kShort) {
    const refrain::test::ScratchFolder folder;
    const std::string name = folder.file("app.profile");
    const Program program = make_program(each.kind, each.host, each.device, each.launches);
    const RunResult without = run(program, "", each.calls);
    run(program, name, each.calls);
    const RunResult with = run(program, name, each.calls);
    CAPTURE(kKindNames[static_cast<std::size_t>(each.kind)], each.launches, without.total, with.total, without.replayed,
            with.replayed);
    CHECK(static_cast<double>(with.total) <= 1.01 * static_cast<double>(without.total));
    CHECK(with.replayed >= without.replayed - 0.01);
  }
}

TEST_CASE("the profile of another program costs at most one percent", "[promise-6]") {
  for (const Case& each : kShort) {
    const Program program = make_program(each.kind, each.host, each.device, each.launches);
    const RunResult without = run(program, "", kLonger * each.calls);
    for (const Case& other : kShort) {
      const refrain::test::ScratchFolder folder;
      const std::string name = folder.file("app.profile");
      run(make_program(other.kind, other.host, other.device, other.launches), name, other.calls);
      const RunResult with = run(program, name, kLonger * each.calls);
      CAPTURE(kKindNames[static_cast<std::size_t>(each.kind)], kKindNames[static_cast<std::size_t>(other.kind)],
              without.total, with.total);
      CHECK(static_cast<double>(with.total) <= 1.01 * static_cast<double>(without.total));
    }
  }
}

}  // namespace refrain::policy
