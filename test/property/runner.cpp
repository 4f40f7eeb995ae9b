// Runs random programs, and prints for each what it computed:
//
//   begin SEED
//   program SEED memory HASH values HASH late N
//   …
//   calls: N            of the API, all programs together
//
// Usage: property_API [--first SEED] [--count N] [--calls N] [--repeat N] [--drop ID,…] [--iterations N] [--source]
//                     [--steps] [--kill-before CALL] [--noise SEED] [--all-kinds] [--gate-limit MILLISECONDS]
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "test/portable/calls.h"
#include "test/property/machine.h"

namespace {

using namespace property;

struct Options {
  std::uint64_t first = 1, count = 1, calls = ~std::uint64_t{0}, repeat = 1, kill = 0;
  Conditions conditions;
  Edits edits;
  bool source = false, steps = false, all_kinds = false;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--source") {
      options->source = true;
      continue;
    }
    if (name == "--steps") {
      options->steps = true;
      continue;
    }
    if (name == "--all-kinds") {
      options->all_kinds = true;
      continue;
    }
    if (++i == argc) {
      return false;
    }
    const auto number = std::strtoull(argv[i], nullptr, 10);
    if (name == "--first") {
      options->first = number;
    } else if (name == "--count") {
      options->count = number;
    } else if (name == "--calls") {
      options->calls = number;
      options->count = ~std::uint64_t{0};
    } else if (name == "--repeat") {
      options->repeat = number;
    } else if (name == "--kill-before") {
      options->kill = number;
    } else if (name == "--noise") {
      options->conditions.noise = number;
    } else if (name == "--gate-limit") {
      options->conditions.gate_limit = std::chrono::milliseconds(number);
    } else if (name == "--iterations") {
      options->edits.most_iterations = static_cast<unsigned>(number);
    } else if (name == "--drop") {
      for (const char* at = argv[i]; *at != '\0';) {
        char* end = nullptr;
        options->edits.dropped.insert(static_cast<int>(std::strtol(at, &end, 10)));
        if (end == at) {
          return false;
        }
        at = *end == ',' ? end + 1 : end;
      }
    } else {
      return false;
    }
  }
  return true;
}

/// Ids of all steps, and how often blocks run at most: what can be taken away.
void print_steps(const Program& program) {
  unsigned most = 0;
  for (const Phase& phase : program.phases) {
    for (const auto& blocks : phase.threads) {
      for (const Block& block : blocks) {
        most = block.iterations > most ? block.iterations : most;
        for (const Step& step : block.steps) {
          std::printf("step %d %s, queue %d, to %d, from %d, of %d, times %u, event %d, after", step.id,
                      name_of(step.kind), step.queue, step.to, step.from, step.other, block.iterations, step.event);
          for (const Wait& wait : step.waits) {
            std::printf(" %d%s", wait.event, wait.carried ? "'" : "");
          }
          for (const int gate : step.opens) {
            std::printf(", the host opens gate %d before", gate);
          }
          std::printf("%s\n", step.moot ? ", moot" : step.gated ? ", behind a gate" : step.certain ? "" : ", open");
        }
      }
    }
  }
  std::printf("iterations %u\n", most);
}

int run_all(const Options& options) {
  const auto device = portable::make_device();
  portable::kill_before_call(options.kill);
  bool late = false;  // one is enough: each takes as long as a gate may be closed
  for (std::uint64_t i = 0; i < options.count && portable::calls_made() < options.calls && !late; ++i) {
    Program program = generate(options.first + i, *device, options.all_kinds);
    if (!options.edits.dropped.empty() || options.edits.most_iterations != ~0U) {
      apply(options.edits, &program);
    }
    if (options.source || options.steps) {
      options.steps ? print_steps(program) : static_cast<void>(std::puts(source_of(program, device->api()).c_str()));
      continue;
    }
    for (std::uint64_t time = 0; time < options.repeat && !late; ++time) {
      std::printf("begin %" PRIu64 "\n", program.seed);
      std::fflush(stdout);
      const Result result = run(program, *device, options.conditions);
      std::printf("program %" PRIu64 " memory %016" PRIx64 " values %016" PRIx64 " late %u\n", program.seed,
                  result.memory, result.values, result.late);
      late = result.late != 0;
    }
  }
  std::printf("calls: %" PRIu64 "\n", portable::calls_made());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: %s [--first SEED] [--count N] [--calls N] [--repeat N] [--drop ID,…] [--iterations N] "
                 "[--source] [--steps] [--kill-before CALL] [--noise SEED] [--all-kinds] [--gate-limit MILLISECONDS]\n",
                 argv[0]);
    return 2;
  }
  try {
    return run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the generator is wrong: %s\n", error.what());
    return 4;
  }
}
