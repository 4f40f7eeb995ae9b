// The promises of the design, and the things an OpenCL program may do, one by one: small programs run
// plain and in every mode must print the same; in replay mode something must really have been replayed.

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <string>

#include "test/opencl/run_program.h"
#include "test/support/captured.h"

using run_program::Result;
using run_program::run_mode;
using run_program::run_plain;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

void show(const Result& result) {
  INFO("output: " << result.output.substr(0, 2000));
  INFO("errors: " << result.errors.substr(0, 4000));
  CHECK(result.exit_code == 0);
}

/// Runs plain and in all modes, gate off; with "default" on, as for any user. Outputs must agree. `least`: operations
/// that must have been replayed with the gate off.
void same_everywhere(const std::vector<std::string>& program, long least, double seconds = 120) {
  const Result plain = run_plain(program, seconds);
  show(plain);
  REQUIRE(plain.output.find("end 0") != std::string::npos);
  for (const std::string mode : {"observe", "capture", "replay", "verify", "default"}) {
    INFO("mode " << mode);
    const auto one = [&] {
      return mode == "default" ? run_mode(program, "replay", {{"REFRAIN_GATE", "1"}}, seconds)
                               : run_mode(program, mode, {}, seconds);
    };
    child::no_capture_yet();
    const Result result = child::run_until_replayed(mode == "replay" ? least : 0, plain.output, one);
    show(result);
    CHECK(result.output == plain.output);
    CHECK(child::capture_fault() == "");
    REQUIRE(result.reported);  // the proof that the layer was in
    CHECK(result.submissions > 0);
    CHECK(result.differences == 0);
    if (mode == "replay") {
      CHECK(result.replayed >= least);
    }
  }
}

/// Verify mode, where every replay is compared.
Result run_verified(const std::vector<std::string>& program, const Result& plain) {
  const auto one = [&] { return run_mode(program, "verify", {{"REFRAIN_VERIFY_EVERY", "1"}}, 120); };
  return child::run_until_replayed(1, plain.output, one);
}

/// Whether the driver changes global sizes in what is recorded, as the report says.
bool changes_sizes() {
  const std::string report = run_mode({"sizes"}, "observe").errors;
  return report.find("global_size is used") != std::string::npos ||
         report.find("global_size are used") != std::string::npos;
}

double longest_ms(const Result& result) {
  const auto at = result.errors.find("longest ");
  return at == std::string::npos ? -1 : std::stod(result.errors.substr(at + 8));
}

}  // namespace

TEST_CASE("promise 1, same results: verify mode compares buffers, images and shared memory", "[promise-1]") {
  const auto program = GENERATE(std::vector<std::string>{"loop"}, std::vector<std::string>{"svm"});
  CAPTURE(program);
  const Result plain = run_plain(program, 120);
  const Result result = run_verified(program, plain);
  show(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.differences == 0);
  CHECK(result.verified > 0);
  CHECK(result.unverified == 0);
}

TEST_CASE("promise 4, same data: verify mode runs what prints once", "[promise-4]") {
  const std::vector<std::string> program{"prints"};
  const Result plain = run_plain(program, 120);
  Result result;
  for (int tries = 0; tries < 5 && result.unverified <= 0; ++tries) {  // a busy machine may replay nothing
    result = run_mode(program, "verify", {{"REFRAIN_VERIFY_EVERY", "1"}}, 120);
    show(result);
    CHECK(result.output == plain.output);
  }
  CHECK(result.unverified > 0);
  CHECK(result.verified == 0);
  CHECK(result.errors.find("a kernel prints, or allocates memory, which cannot be put back") != std::string::npos);
}

TEST_CASE("promise 1, same order: a loop", "[promise-1]") {
  same_everywhere({"loop"}, 1000);
}

TEST_CASE("promise 1, same order: two queues and their events", "[promise-1]") {
  same_everywhere({"two_queues"}, 1);
}

TEST_CASE("promise 1, same order: an out-of-order queue with wait lists", "[promise-1]") {
  same_everywhere({"out_of_order"}, 1);
}

TEST_CASE("promise 2, host calls cut: calls nobody classified, and native kernels between launches", "[promise-2]") {
  same_everywhere({"host_work"}, 1);
}

TEST_CASE("promise 3, bounded hold: memory polled with no call at all", "[promise-3]") {
  same_everywhere({"spin"}, 0);
  // Even where a hold limit ends every repetition, none of them takes long. The machine may be busy.
  const Result plain = run_plain({"spin"});
  const Result result = run_mode({"spin"}, "replay", {{"REFRAIN_HOLD_LIMIT_US", "2000"}});
  show(result);
  CHECK(longest_ms(result) < 2 + 20 * (kSanitized ? 20 : 5) + longest_ms(plain));
}

TEST_CASE("promise 3, bounded hold: an event polled with no other call", "[promise-3]") {
  same_everywhere({"poll"}, 1);
}

TEST_CASE("promise 4, same data: arguments changed right after the enqueue", "[promise-4]") {
  same_everywhere({"arguments"}, 100);
}

TEST_CASE("promise 4, same data: host memory reused after reads and writes", "[promise-4]") {
  same_everywhere({"commands"}, 1);
}

TEST_CASE("promise 4, same data: every function that submits or makes something, by each of its names", "[promise-4]") {
  same_everywhere({"variants"}, 0);
}

TEST_CASE("promise 5, same errors: what the driver refuses is refused in the middle of what repeats", "[promise-5]") {
  same_everywhere({"refused_calls"}, 100);
}

TEST_CASE("promise 6, never slower: with the gate on, what does not pay is declined", "[promise-6]") {
  const Result plain = run_plain({"loop"});
  const Result result = run_mode({"loop"}, "replay", {{"REFRAIN_GATE", "1"}});
  show(result);
  CHECK(result.output == plain.output);
}

TEST_CASE("promise 7, never in the way: switched off there is no trace of it", "[promise-7]") {
  const Result plain = run_plain({"loop"});
  const Result result = run_mode({"loop"}, "off");
  show(result);
  CHECK(result.output == plain.output);
  CHECK_FALSE(result.reported);
  CHECK(result.errors.find("refrain") == std::string::npos);
}

TEST_CASE("everything released right after the enqueue") {
  same_everywhere({"releases"}, 0);
}

TEST_CASE("promise 7, never in the way: contexts whose kernels and programs are released before their work has begun",
          "[promise-7]") {
  same_everywhere({"jobs"}, 0);
}

TEST_CASE("released by another thread while held") {
  same_everywhere({"foreign_release"}, 0);
}

TEST_CASE("buffers that graphs named are freed when the program lets go of them") {
  same_everywhere({"freed"}, 1);
}

TEST_CASE("programs are built again after their kernels were replayed") {
  same_everywhere({"rebuild"}, 1);
}

TEST_CASE("global sizes that are others each time: one graph is changed for all, where the driver can", "[promise-1]") {
  const bool can = changes_sizes();
  CAPTURE(can);
  same_everywhere({"sizes"}, can ? 1'500 : 0);
  // While it runs none may be changed: then every second one is issued at least.
  same_everywhere({"sizes", "ahead"}, can ? 1'000 : 0);
}

TEST_CASE("the driver chooses how large groups are, for each global size anew", "[promise-1]") {
  same_everywhere({"open_sizes"}, 500);
}

TEST_CASE("shared virtual memory: kernels, fills, copies, maps") {
  same_everywhere({"svm"}, 1);
}

TEST_CASE("shared virtual memory that is given out again where graphs named what was there before", "[promise-4]") {
  same_everywhere({"svm_again"}, 0);
}

TEST_CASE("several contexts, in turns and from threads of their own") {
  same_everywhere({"contexts"}, 100);
}

TEST_CASE("images, samplers and copies between images and buffers") {
  same_everywhere({"images"}, 0);
}

TEST_CASE("events of held commands: information, references, waits") {
  same_everywhere({"event_info"}, 1);
}

TEST_CASE("events of held commands: callbacks") {
  same_everywhere({"callbacks"}, 1);
}

TEST_CASE("promise 3, no deadlock: callbacks run in no call that has nothing to do with their event", "[promise-3]") {
  same_everywhere({"callbacks_under_lock"}, 1);
}

TEST_CASE("promise 3, bounded hold: who flushes and waits for a callback alone does not wait for the limit",
          "[promise-3]") {
  const auto flush = GENERATE(as<std::string>(), "behind", "before");
  CAPTURE(flush);
  const Result plain = run_plain({"callbacks_alone", flush});
  const Result result =
      run_mode({"callbacks_alone", flush}, "replay", {{"REFRAIN_HOLD_LIMIT_US", "1000000"}, {"REFRAIN_GATE", "0"}});
  show(result);
  CHECK(result.output == plain.output);
  CHECK(longest_ms(result) < 500 + longest_ms(plain));
  CHECK(result.replayed >= 1000);  // of 4000
}

TEST_CASE("promise 3: signals of the program's reach its callbacks as in a thread of the driver's", "[promise-3]") {
  same_everywhere({"callbacks_alone", GENERATE(as<std::string>(), "none", "behind", "before")}, 0);
}

TEST_CASE("events of queues with profiling") {
  same_everywhere({"profiling"}, 1);
}

TEST_CASE("user events in wait lists") {
  same_everywhere({"user_events"}, 1);
}

TEST_CASE("promise 1, same order: one old event in every wait list", "[promise-1]") {
  const auto where = GENERATE(as<std::string>(), "in_order", "second", "out_of_order");
  CAPTURE(where);
  // Nine in ten of 12 800; where the wait is real the first graphs come later.
  same_everywhere({"wait_lists", where}, kSanitized ? 1 : where == "in_order" ? 11'520 : 9'000);
  same_everywhere({"wait_lists", where, "held back"}, kSanitized ? 1 : 6'000);
}

TEST_CASE("threads that hand events and a queue to each other") {
  same_everywhere({"handover"}, 0);
}

TEST_CASE("exit without clFinish") {
  same_everywhere({"leave"}, 1);
}

TEST_CASE("fork in the middle") {
  same_everywhere({"forks"}, 1);
}

TEST_CASE("an application's own command buffers, through extension functions") {
  same_everywhere({"own_command_buffer"}, 0);
}

TEST_CASE("random calls of 8 threads, in every mode") {
  const std::string bodies = kSanitized ? "20" : "150";
  for (const char* seed : child::nightly() ? std::vector<const char*>{"11", "12"} : std::vector<const char*>{"11"}) {
    INFO("seed " << seed);
    same_everywhere({"random_calls", seed, "8", bodies}, kSanitized ? 1 : 500, 300);
  }
}

TEST_CASE("random calls of 8 threads, replayed") {
  const std::vector<std::string> program = {"random_calls", "21", "8",
                                            kSanitized         ? "100"
                                            : child::nightly() ? "2000"
                                                               : "500"};
  const Result plain = run_plain(program, 300);
  const long least = kSanitized ? 1 : 1'001;
  const Result result =
      child::run_until_replayed(least, plain.output, [&] { return run_mode(program, "replay", {}, 300); });
  show(result);
  CHECK(result.output == plain.output);
  CHECK(result.replayed >= least);
}

TEST_CASE("promise 6, never slower: threads in which nothing pays are not looked at, and compute the same",
          "[promise-6]") {
  // Long enough for lanes to become dormant and to look again, with events across queues in between.
  const auto program = GENERATE(values<std::vector<std::string>>({{"hopeless"}, {"hopeless", "slow"}}));
  const Result plain = run_plain(program, 300);
  const Result result = run_mode(program, "replay", {{"REFRAIN_GATE", "1"}}, 300);
  show(result);
  CHECK(result.output == plain.output);
  CHECK(result.dormant > 17'000);  // more than once
  CHECK(result.dormant < result.submissions);
}

TEST_CASE("SIGUSR1 prints the report where it is asked for, and only that") {
  const std::pair<const std::string, std::string> kAsk{"REFRAIN_REPORT_SIGNAL", "usr1"};
  const Result result = run_mode({"signalled"}, "replay", {kAsk});
  show(result);
  CHECK(result.output.find("survived") != std::string::npos);
  const auto first = result.errors.find("report (");
  REQUIRE(first != std::string::npos);
  CHECK(result.errors.find("report (", first + 1) != std::string::npos);  // the other one is written at exit
  for (const char* log : {"1", "0"}) {  // the file is written, too, and not at the end only
    const Result killed = run_mode({"signalled", "killed"}, "replay", {{"REFRAIN_REPORT", log}, kAsk});
    CHECK(killed.exit_code == -SIGKILL);
    CHECK(killed.reported);
  }
}

TEST_CASE("stacking: above and below another layer, which may have a shorter table") {
  const Result plain = run_plain({"arguments"});
  for (const char* entries : {"", "120"}) {
    for (const bool above : {false, true}) {
      INFO("entries " << entries << " above " << above);
      run_program::Options options;
      options.arguments = {"arguments"};
      options.layers = above ? run_program::counting_layer() + ":" + run_program::refrain_layer()
                             : run_program::refrain_layer() + ":" + run_program::counting_layer();
      const std::string counts = run_program::scratch("counts");
      options.environment = {{"REFRAIN_GATE", "0"}, {"COUNTING_LAYER_FILE", counts}};
      if (*entries != '\0') {
        options.environment["COUNTING_LAYER_ENTRIES"] = entries;
      }
      const Result result = child::run_until_replayed(101, plain.output, [&] { return run_program::run(options); });
      show(result);
      CHECK(result.output == plain.output);
      REQUIRE(result.reported);
      CHECK(result.submissions == 3201);
      CHECK(result.replayed > 100);
      std::ifstream in(counts);
      long launches = 0;
      long arguments = 0;
      in >> launches >> arguments;
      if (above) {  // the other one is below Refrain: replayed launches do not reach it
        CHECK(launches > 0);
        CHECK(launches < 2800);
      } else {
        CHECK(launches == 2800);
        CHECK(arguments > 2800);
      }
    }
  }
}

TEST_CASE("promise 7, never in the way: a thread that is cancelled while it waits", "[promise-7]") {
  if (kSanitized) {
    return;  // the sanitizers' run times do not like it
  }
  for (const std::vector<std::string>& program : {std::vector<std::string>{"cancelled"}, {"cancelled", "event"}}) {
    const Result plain = run_plain(program);
    CHECK(plain.output == "cancelled\n");
    for (const char* mode : {"off", "observe", "replay"}) {
      CAPTURE(program, mode);
      const Result result = run_mode(program, mode);
      CHECK(result.exit_code == 0);
      CHECK(result.output == plain.output);
    }
  }
}

TEST_CASE("promise 3, bounded hold: nothing is held where the environment asks for that", "[promise-3]") {
  const Result result = run_mode({"loop"}, "replay", {{"CLI_FinishAfterEnqueue", "1"}});
  CHECK(result.exit_code == 0);
  CHECK(result.reported);
  CHECK(result.replayed == 0);
  CHECK(result.errors.find("CLI_FinishAfterEnqueue=1 ") != std::string::npos);
}
