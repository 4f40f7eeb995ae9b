#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "replay/policy/interval_trial_test_support.h"

namespace refrain::replay {
namespace {

TEST_CASE("graphs of an interval that is slower with them are declined", "[promise-6]") {
  for (const std::uint64_t loss : {5, 50}) {  // clearly, and only just
    Intervals intervals(1);
    intervals.run_fairly([&](bool eager, std::uint32_t) { return eager ? 1000 : 1000 + loss * 10; }, 30);
    CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
    CHECK(intervals.replayed <= 6);
    CHECK(intervals.entry->summary().decline == GraphEntry::Decline::kInterval);
  }
}

TEST_CASE("graphs of an interval that is faster with them stay, and eager turns become rare") {
  Intervals intervals(1);
  intervals.run_fairly([&](bool eager, std::uint32_t) { return eager ? 1000 : 600; }, 2000);
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
  CHECK(intervals.replayed >= 1985);
}

TEST_CASE("what a program took when it had only begun is not said to be saved") {
  Intervals intervals(1);
  int passed = 0;
  const auto cost = [&](bool eager, std::uint32_t) {
    return (eager ? 1000 : 900) * (++passed <= 12 ? (eager ? 8 : 6) : 1);
  };
  intervals.run_fairly(cost, 200);
  REQUIRE(intervals.gate.proven());
  const auto summaries = intervals.gate.summaries();
  REQUIRE(summaries.size() == 1);
  CHECK(summaries[0].state == IntervalSummary::State::kReplaying);
  CHECK(summaries[0].eager_ns == 1000);
  CHECK(summaries[0].plans[0].ns == 900);
  const auto known = intervals.gate.known();  // the next run is told the same
  REQUIRE(known.size() == 1);
  CHECK(known[0].whole_eager_ns == 1000);
  CHECK(known[0].whole_graph_ns == 900);
}

TEST_CASE("what was saved is counted by what had been concluded last before it") {
  Intervals intervals(1);
  int passed = 0;
  const auto cost = [&](bool eager, std::uint32_t) { return eager ? (++passed <= 30 ? 5000 : 700) : 600; };
  intervals.run_fairly(cost, 300);
  const std::uint64_t first = intervals.gate.summaries().front().saved_ns;
  CHECK(first > 200 * 4400);
  CHECK(first <= 300 * 4400);
  while (passed <= 40) {  // until all was checked again
    intervals.run_fairly(cost, 1);
  }
  const std::uint64_t before = intervals.gate.summaries().front().saved_ns;
  intervals.run_fairly(cost, 1000);
  CHECK(intervals.gate.summaries().front().saved_ns - before <= 1000 * 100);
}

TEST_CASE("graphs that only seemed to be faster because eager intervals came first are declined", "[promise-6]") {
  Intervals intervals(1);
  int passed = 0;
  const auto cost = [&](bool eager, std::uint32_t) {
    return (++passed <= 9 && eager ? 500 : 0) + (eager ? 800 : 1000);
  };
  intervals.run_fairly(cost, 60);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
}

TEST_CASE("each of two intervals with a short one between them is compared with itself") {
  // Between short ones so many times; a step of a language model, for example, where two lengths take turns.
  const std::size_t apart = GENERATE(1U, 2U, 3U);
  Intervals intervals(1);
  const auto cost = [&](bool eager, std::uint32_t) { return intervals.submissions * (eager ? 100 : 60); };
  std::array<int, 2> eager{}, proven{};
  for (int step = 0; step < 200; ++step) {
    const auto which = static_cast<std::size_t>(step % 2);
    intervals.submissions = 100 + which;
    eager[which] += intervals.gate.eager_turn() ? 1 : 0;
    proven[which] += intervals.gate.proven() ? 1 : 0;
    intervals.run_fairly(cost, 1);
    intervals.submissions = 8;
    intervals.run_fairly(cost, static_cast<int>(apart));
  }
  for (const std::size_t which : {0U, 1U}) {
    CHECK(eager[which] <= 12);
    CHECK(proven[which] >= 80);
  }
}

TEST_CASE("intervals that do not come any more make room for others") {
  Intervals intervals(1);
  const auto cost = [](bool eager, std::uint32_t) { return eager ? 20'000 : 10'000; };
  for (capture::Token other = 11; other < 3011; ++other) {
    intervals.submissions = other;
    intervals.run(cost, true);
  }
  intervals.submissions = 10;
  intervals.run_fairly(cost, 60);
  CHECK(intervals.gate.proven());
  CHECK(intervals.gate.summaries().size() <= 1024);
}

TEST_CASE("the fastest chunk plan of an interval stays") {
  for (std::uint32_t best = 0; best < kChunkPlans; ++best) {
    Intervals intervals(kChunkPlans);
    std::uint64_t in_best = 0;
    const auto cost = [&](bool eager, std::uint32_t plan) {
      in_best += !eager && plan == best ? 1 : 0;
      return eager ? 1000U : plan == best ? 700U : 800U;
    };
    intervals.run_fairly(cost, 200);
    CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
    CHECK(in_best >= 170);
  }
}

TEST_CASE("a chunk plan whose graphs never become ready is given up after so many submissions") {
  for (const capture::Token submissions : {100, 4100}) {
    CAPTURE(submissions);
    Intervals intervals(2);
    intervals.submissions = submissions;
    int tried = 0;
    for (int i = 0; i < 200 && !intervals.gate.proven(); ++i) {
      const bool second = !intervals.gate.eager_turn() && intervals.gate.plan() == 1;
      const bool ready = !intervals.gate.eager_turn() && !second;
      tried += second ? 1 : 0;
      intervals.launches = static_cast<int>(submissions) / 2;  // all of them
      intervals.run([&](bool, std::uint32_t) { return ready ? 600 : 1000; }, ready);
    }
    CHECK(tried == (submissions == 100 ? 64 : 5));
    CHECK(intervals.gate.proven());
  }
}

TEST_CASE(
    "without leave to lose anything, an interval stays with a plan that pays, and goes on with the others later") {
  Intervals intervals(2);
  intervals.submissions = 100;
  intervals.launches = 50;
  const auto cost = [](bool eager, std::uint32_t plan) { return eager ? 1000U : plan == 0 ? 600U : 500U; };
  while (intervals.gate.eager_turn() || intervals.gate.plan() == 0) {
    intervals.run(cost, !intervals.gate.eager_turn());
  }
  intervals.may_lose = false;
  intervals.run(cost, true);  // whose turn it was
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(intervals.gate.eager_turn());
    CHECK(intervals.gate.plan() == 0);
    intervals.run(cost, true);
  }
  intervals.may_lose = true;
  intervals.run_fairly(cost, 20);
  CHECK(intervals.gate.plan() == 1);
  CHECK(intervals.gate.proven());
}

TEST_CASE("no interval stays with a plan whose graphs are gone") {
  Intervals intervals(2);
  const auto cost = [](bool eager, std::uint32_t) { return eager ? 1000U : 600U; };
  for (int i = 0; i < 8; ++i) {
    intervals.run(cost, !intervals.gate.eager_turn());
  }
  intervals.may_lose = false;
  intervals.run(cost, !intervals.gate.eager_turn());
  intervals.run(cost, true);
  CHECK_FALSE(intervals.gate.eager_turn());
  int eager = 0;
  for (int i = 0; i < 10; ++i) {
    intervals.run([](bool, std::uint32_t) { return 1000U; }, false);
    eager += intervals.gate.eager_turn() ? 1 : 0;
  }
  CHECK(eager >= 8);
}

TEST_CASE("what intervals on trial gain is told as well") {
  Intervals intervals(1);
  intervals.run_fairly([](bool eager, std::uint32_t) { return eager ? 1000U : 1300U; }, 3);
  CHECK(intervals.lost == 600);
  intervals.run_fairly([](bool, std::uint32_t) { return 800U; }, 2);  // an eager one, and one with graphs
  CHECK(intervals.lost < 600);
}

TEST_CASE("other chunk plans are tried from the first one on") {
  Intervals intervals(2);
  const auto cost = [](bool eager, std::uint32_t) { return eager ? 1000U : 600U; };
  while (intervals.gate.eager_turn() || intervals.gate.plan() == 0) {
    intervals.run(cost, !intervals.gate.eager_turn());
  }
  intervals.gate.plans_changed(2);
  intervals.run(cost, true);
  CHECK(intervals.gate.plan() == 0);
  int eager = 0;
  for (int i = 0; i < 20; ++i) {
    eager += intervals.gate.eager_turn() ? 1 : 0;
    intervals.run(cost, !intervals.gate.eager_turn());
  }
  CHECK(eager >= 5);
}

TEST_CASE("a machine that becomes faster while plans are tried makes none of them look better") {
  const int when = GENERATE(range(8, 40));  // in the middle of any of the plans
  CAPTURE(when);
  Intervals intervals(3);
  int number = 0;
  std::uint64_t in_first = 0;
  const auto cost = [&](bool eager, std::uint32_t plan) {
    const std::uint64_t usual = eager ? 1000 : plan == 0 ? 600 : 660;
    in_first += !eager && plan == 0 ? 1 : 0;
    return ++number < when ? usual * 3 / 2 : usual;
  };
  intervals.run_fairly(cost, 120);
  CHECK(in_first >= 80);
}

TEST_CASE("where the program waits for longer than it submits, other chunk plans are not tried") {
  Intervals intervals(kChunkPlans);
  intervals.submissions = 100;
  intervals.waits = 500;
  bool others = false;
  intervals.run_fairly(
      [&](bool eager, std::uint32_t plan) {
        others = others || plan != 0;
        return eager ? 1000U : plan == 0 ? 700U : 600U;
      },
      200);
  CHECK_FALSE(others);
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
}

TEST_CASE("samples that were disturbed decide nothing") {
  for (const bool eager_disturbed : {false, true}) {
    Intervals intervals(1);
    int number = 0;
    intervals.run_fairly(
        [&](bool eager, std::uint32_t) {
          // Every third one takes three times as long.
          const std::uint64_t cost = eager ? 1000 : 900;
          return eager == eager_disturbed && ++number % 3 == 0 ? cost * 3 : cost;
        },
        100);
    CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
  }
}

TEST_CASE("eager intervals in which graphs were looked for decide nothing, but one submission in eight does no harm") {
  for (const int looked_at : {1, 2}) {
    Intervals intervals(1);
    int number = 0;
    const auto cost = [&](bool eager, std::uint32_t) {
      if (!eager) {
        return 1100;
      }
      const bool slow = ++number % 4 != 0;
      for (int i = 0; slow && i < looked_at; ++i) {
        intervals.gate.looked_at();
      }
      return slow ? 3000 : 1000;
    };
    intervals.run_fairly(cost, 60);
    CAPTURE(looked_at);
    CHECK((intervals.entry->state() == GraphEntry::State::kBypassing) == (looked_at == 2));
  }
}

TEST_CASE("in noise of a tenth, what gains a tenth mostly stays, and what gains nothing is mostly declined") {
  for (const std::uint64_t with : {900U, 1010U, 1200U}) {
    int declined = 0;
    constexpr std::uint64_t kPrograms = 13;
    for (std::uint64_t first = 0; first < kPrograms; ++first) {
      Intervals intervals(1);
      std::uint64_t number = first;
      const auto cost = [&](bool eager, std::uint32_t) {
        const std::uint64_t noise = ++number * 7919 % kPrograms * 10;  // up to 120
        return (eager ? 1000 : with) + noise;
      };
      intervals.run_fairly(cost, 40);
      declined += intervals.entry->state() == GraphEntry::State::kBypassing ? 1 : 0;
    }
    CAPTURE(with, declined);
    CHECK((with < 1000 ? declined <= 1 : with > 1100 ? declined == kPrograms : declined >= 10));
  }
}

TEST_CASE("an interval that became slower than it was eagerly is measured again long before its time") {
  Intervals intervals(1);
  intervals.run_fairly([&](bool eager, std::uint32_t) { return eager ? 1000 : 900; }, 40);
  REQUIRE(intervals.entry->state() != GraphEntry::State::kBypassing);
  intervals.run_fairly([&](bool eager, std::uint32_t) { return eager ? 1000 : 1500; }, 40);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
}

TEST_CASE("an interval that loses with every chunk plan but one is not declined") {
  Intervals intervals(2);
  intervals.run_fairly([&](bool eager, std::uint32_t plan) { return eager ? 1000 : plan == 1 ? 900 : 1500; }, 100);
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
  CHECK(intervals.gate.plan() == 1);
}

TEST_CASE("what intervals on trial lose is told, and without leave for more they are suspended", "[promise-6]") {
  Intervals intervals(1);
  const auto cost = [](bool eager, std::uint32_t) { return eager ? 1000U : 1050U; };
  intervals.run_fairly(cost, 3);  // two with graphs, one without
  CHECK(intervals.lost == 100);
  intervals.may_lose = false;
  intervals.run_fairly(cost, 2);
  const int before = intervals.replayed;
  intervals.run_fairly(cost, 100);
  CHECK(intervals.replayed == before);
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
  intervals.may_lose = true;
  intervals.run_fairly(cost, 30);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
  CHECK(intervals.lost == std::int64_t{50} * intervals.replayed);
}

/// Intervals whose program does a lot by itself, with noise, between the submissions.
struct NoisyIntervals {
  NoisyIntervals() { gate.configure(true, kChunkPlans); }

  [[nodiscard]] bool has_graphs() const {
    return entry->state() != GraphEntry::State::kBypassing && !gate.eager_turn();
  }
  /// `with`: what submitting costs with graphs; 400 without. The program's own time is 10000, or 15000 if it is slow.
  void run(std::uint64_t with, bool slow) {
    const bool graphs = has_graphs();
    submit(slow ? 15000 : 10000, graphs ? with : 400, graphs);
  }
  /// `own`: the program's own time; `busy`: what submitting takes.
  void run_as_long(std::uint64_t own, std::uint64_t busy) { submit(own, busy, has_graphs()); }

  void submit(std::uint64_t own, std::uint64_t busy, bool graphs) {
    for (capture::Token token = 1; token <= 100; ++token) {
      gate.submitted(token, now);
    }
    if (gate.wants_outside()) {
      gate.outside(own);
    }
    for (int i = 0; graphs && i < launches; ++i) {
      gate.launched(entry);
    }
    plans[gate.plan()] += graphs ? 1 : 0;
    now += own + busy + 100;
    gate.waiting(now - 100);
    lost += gate.waited(now, may_lose);
    now += 100;
  }

  IntervalTrial gate;
  std::shared_ptr<GraphEntry> entry = std::make_shared<GraphEntry>(1, std::vector<Token>{1, 2}, GraphEntry::Limits{});
  std::uint64_t now = 1000;
  std::array<int, kChunkPlans> plans{};
  int launches = 1;
  bool may_lose = true;
  std::int64_t lost = 0;
};

TEST_CASE("what the program does by itself does not hide what submitting costs") {
  for (int seed = 1; seed < 40; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    NoisyIntervals gains, loses;
    for (int i = 0; i < 100; ++i) {
      gains.run(200, random() % 2 == 0);
      loses.run(500, random() % 2 == 0);
    }
    CHECK(gains.entry->state() != GraphEntry::State::kBypassing);
    CHECK(loses.entry->state() == GraphEntry::State::kBypassing);
  }
}

TEST_CASE("where the program is nearly always busy with itself, other plans are tried once it has lived for a while") {
  int fewest = 0;
  for (int seed = 1; seed < 40; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    NoisyIntervals intervals;
    for (int i = 0; i < 200; ++i) {
      intervals.run(100, random() % 2 == 0);
    }
    CHECK(intervals.plans[1] == 0);
    for (int i = 0; i < 3000; ++i) {
      intervals.run(100, random() % 2 == 0);
    }
    fewest += intervals.plans[1] >= 200 ? 1 : 0;
    CHECK(intervals.plans[2] == 0);
  }
  // It hardly waits: few launches are what it needs. (Where noise makes checks rare it takes longer.)
  CHECK(fewest >= 35);
}

TEST_CASE("a slow moment of the machine decides nothing about a long interval that is mostly the program's own") {
  const int from = GENERATE(range(0, 10));
  const int intervals_slow = GENERATE(1, 2, 3);
  CAPTURE(from, intervals_slow);
  NoisyIntervals intervals;
  for (int i = 0; i < 60; ++i) {
    const bool slow = i >= from && i < from + intervals_slow;
    const std::uint64_t busy = intervals.has_graphs() ? 250'000 : 400'000;
    intervals.run_as_long(slow ? 25'000'000 : 12'000'000, slow ? 2 * busy : busy);
  }
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
}

TEST_CASE("a slow phase of the machine in which only graphs are measured declines nothing") {
  const int from = GENERATE(range(8, 20));  // more graphs are ready then, and are measured anew
  CAPTURE(from);
  NoisyIntervals intervals;
  for (int i = 0; i < 300; ++i) {
    const bool slow = i >= from && i < from + 30;
    intervals.launches = i < from ? 1 : 30;
    const std::uint64_t busy = intervals.has_graphs() ? 300'000 : 400'000;
    intervals.run_as_long(slow ? 18'000'000 : 12'000'000, slow ? busy + busy / 2 : busy);
  }
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
}

TEST_CASE("noise is no loss: where the program is busy with itself, graphs go on though no more may be lost") {
  NoisyIntervals intervals;
  intervals.may_lose = false;
  std::mt19937 random(1);
  int eager = 0;
  for (int i = 0; i < 60; ++i) {
    eager += i > 0 && !intervals.has_graphs() ? 1 : 0;
    intervals.run_as_long(10'000, (intervals.has_graphs() ? 300U : 400U) * (random() % 4 == 0 ? 3 : 1));
  }
  CHECK(eager <= 6);
  CHECK(intervals.lost <= 1000);  // of the first one, of which nobody knew what the program does by itself
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
}

TEST_CASE("many long intervals that hardly come again, and are as long, are judged as one") {
  const bool slower = GENERATE(false, true);
  Intervals intervals(1);
  intervals.launches = 150;
  int replayed = 0;
  for (capture::Token interval = 0; interval < 60; ++interval) {
    for (capture::Token token = 1; token <= 400; ++token) {
      intervals.gate.submitted(1000 * interval + token, intervals.now);
    }
    const bool eager = intervals.gate.eager_turn() || intervals.entry->state() == GraphEntry::State::kBypassing;
    for (int i = 0; !eager && i < intervals.launches; ++i) {
      intervals.gate.launched(intervals.entry);
    }
    intervals.now += !eager && slower ? 1300 : eager ? 1000 : 700;
    replayed += eager ? 0 : 1;
    intervals.gate.waited(intervals.now, intervals.may_lose);
    intervals.now += 100;
  }
  CHECK(intervals.gate.summaries().size() == 1);
  CHECK((intervals.entry->state() == GraphEntry::State::kBypassing) == slower);
  CHECK((slower ? replayed < 25 : replayed > 45));
  CHECK(intervals.gate.summaries().front().state ==
        (slower ? IntervalSummary::State::kDeclined : IntervalSummary::State::kReplaying));
}

TEST_CASE("graphs that make the program itself slower are declined, though they are cheaper to submit") {
  NoisyIntervals intervals;
  for (int i = 0; i < 100; ++i) {
    intervals.run(200, intervals.has_graphs());
  }
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
}

TEST_CASE("more graphs in an interval than when it was concluded are a new trial") {
  Intervals intervals(1);
  const auto half = [&](int intervals_count, std::uint64_t with) {
    for (int i = 0; i < intervals_count; ++i) {
      const bool ready = intervals.entry->state() != GraphEntry::State::kBypassing && !intervals.gate.eager_turn();
      intervals.run([&](bool eager, std::uint32_t) { return eager ? 1000 : with; }, ready);
    }
  };
  half(20, 900);
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
  intervals.launches = 2;
  half(20, 1300);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
}

TEST_CASE("a graph that is launched in an eager turn makes it no sample, and there are others") {
  Intervals intervals(1);
  int eager_turns = 0;
  for (int i = 0; i < 40; ++i) {  // whatever the turn, graphs run
    eager_turns += intervals.gate.eager_turn() ? 1 : 0;
    intervals.run([](bool, std::uint32_t) { return 1000U; }, true);
  }
  CHECK(eager_turns > 5);
  CHECK(eager_turns <= 20);
  CHECK(intervals.entry->state() != GraphEntry::State::kBypassing);
  intervals.run_fairly([&](bool eager, std::uint32_t) { return eager ? 500 : 1000; }, 40);
  CHECK(intervals.entry->state() == GraphEntry::State::kBypassing);
}

}  // namespace
}  // namespace refrain::replay
