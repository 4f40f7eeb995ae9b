#include "test/property/source.h"

#include <fmt/format.h>

namespace property {
namespace {

class Writer {
 public:
  Writer(const Program& program, const Syntax& syntax) : program_(program), syntax_(syntax) {}

  std::string write() {
    line(
        fmt::format("// program {}; all memory has {} words, kernels: test/portable/kernels.h", program_.seed, kWords));
    for (std::size_t i = 0; i < program_.queues.size(); ++i) {
      if (uses_queue(i)) {
        line(syntax_.queue(fmt::format("q{}", i), program_.queues[i]) + on_device(program_.queue_devices[i]));
      }
    }
    for (std::size_t i = 0; i < program_.memory.size(); ++i) {
      line(syntax_.memory(fmt::format("m{}", i), program_.memory[i]) +
           fmt::format("  // filled with {}, {}, …", program_.seed + 1000 * i, program_.seed + 1000 * i + 1) +
           on_device(program_.memory_devices[i]));
    }
    for (int i = 0; i < program_.events; ++i) {
      if (uses_event(i)) {
        line(syntax_.event(fmt::format("e{}", i)));
      }
    }
    for (std::size_t i = 0; i < program_.graphs.size(); ++i) {
      std::string text = fmt::format("// g{} is a graph of:", i);
      for (const GraphStep& step : program_.graphs[i]) {
        text += fmt::format(" {}(m{}, m{}, {})", name_of(step.kind), step.to, step.from, step.value);
      }
      line(text);
    }
    for (int thread = 0; thread < program_.threads; ++thread) {
      line(fmt::format("void thread_{}() {{", thread));
      ++depth_;
      for (const Phase& phase : program_.phases) {
        for (const Block& block : phase.threads[static_cast<std::size_t>(thread)]) {
          write(block);
        }
        line("all_threads_meet();");
      }
      --depth_;
      line("}");
    }
    return std::move(text_);
  }

 private:
  /// Calls are made with the queue's device current.
  static std::string on_device(int device) { return device == 0 ? "" : fmt::format("  // of device {}", device); }
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  template <class Test>
  [[nodiscard]] bool any_step(Test&& test) const {
    for (const Phase& phase : program_.phases) {
      for (const auto& blocks : phase.threads) {
        for (const Block& block : blocks) {
          for (const Step& step : block.steps) {
            if (test(step)) {
              return true;
            }
          }
        }
      }
    }
    return false;
  }
  [[nodiscard]] bool uses_queue(std::size_t index) const {
    return any_step([index](const Step& step) { return static_cast<std::size_t>(step.queue) == index; });
  }
  [[nodiscard]] bool uses_event(int number) const {
    return any_step([number](const Step& step) { return step.event == number; });
  }

  void write(const Block& block) {
    const bool loop = block.iterations > 1;
    if (loop) {
      line(fmt::format("for (unsigned i = 0; i < {}; ++i) {{", block.iterations));
      ++depth_;
    }
    for (const Step& step : block.steps) {
      open(step.opens);
      write(step, loop);
    }
    open(block.opens);
    if (loop) {
      --depth_;
      line("}");
    }
  }

  void open(const std::vector<int>& gates) {
    for (const int gate : gates) {
      line(fmt::format("open(gate{});  // by the host", gate));
    }
  }

  static std::string if_carried(const Wait& wait, bool loop, const std::string& call) {
    return wait.carried ? (loop ? "if (i > 0) " + call : "// " + call) : call;
  }

  void write(const Step& step, bool loop) {
    Names names;
    names.queue = fmt::format("q{}", step.queue);
    const bool alternates = step.alternates && loop;
    const auto memory = [&](int even, int odd) {
      return alternates ? fmt::format("(i % 2 == 0 ? m{} : m{})", even, odd) : fmt::format("m{}", even);
    };
    names.to = memory(step.to, step.from);
    names.from = memory(step.from, step.to);
    const auto pinned = [this](int index) {
      return program_.memory[static_cast<std::size_t>(index)] == portable::Place::kPinned;
    };
    names.to_pinned = pinned(step.to);
    names.from_pinned = pinned(step.from);
    names.value =
        step.change != 0 && loop ? fmt::format("({} + {} * i)", step.value, step.change) : std::to_string(step.value);
    names.words = step.grows && loop
                      ? fmt::format("(1 + ({} + {} * i) % {})", step.words, Step::kGrowth, kWords - step.offset)
                      : std::to_string(step.words_in(0));
    names.version = !step.grows ? "0" : loop ? "1 + i / 2" : "1";
    const bool by_list = syntax_.has_lists() && submits(step.kind) && step.by_list;
    for (const Wait& wait : step.waits) {
      const std::string event = fmt::format("e{}", wait.event);
      if (!submits(step.kind)) {
        line(if_carried(wait, loop, syntax_.host_wait(event)));
      } else if (by_list && !wait.carried) {
        names.waits.push_back(event);
      } else {
        line(if_carried(wait, loop, syntax_.wait(names.queue, event)));
      }
    }
    if (by_list && step.event >= 0) {
      names.event = fmt::format("e{}", step.event);
    }
    if (step.other_event >= 0) {
      names.event = fmt::format("e{}", step.other_event);
    }
    if (step.kind == Kind::kClose || step.kind == Kind::kPost) {
      if (!step.moot) {
        line(fmt::format("{}({}, gate{});", step.kind == Kind::kClose ? "wait_for" : "open", names.queue, step.value));
      }
    } else if (const std::string call = syntax_.call(step, names); !call.empty()) {
      line(call);
    }
    if (step.event >= 0 && !by_list) {
      line(syntax_.record(names.queue, fmt::format("e{}", step.event)));
    }
    write_questions(step);
  }

  void write_questions(const Step& step) {
    Step question;
    Names names;
    std::string all;
    for (const int queue : step.done_queues) {
      question.kind = Kind::kAskQueue;
      names.queue = fmt::format("q{}", queue);
      all += " " + syntax_.call(question, names);
    }
    for (const int event : step.done_events) {
      question.kind = Kind::kAskEvent;
      names.event = fmt::format("e{}", event);
      all += " " + syntax_.call(question, names);
    }
    if (!all.empty()) {
      line("/* all done: */" + all);
    }
  }

  const Program& program_;
  const Syntax& syntax_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string source_of(const Program& program, const std::string& api) {
  std::unique_ptr<Syntax> syntax = stream_syntax(api);
  if (syntax == nullptr) {
    syntax = list_syntax(api);
  }
  return syntax == nullptr ? "no syntax for " + api : Writer(program, *syntax).write();
}

}  // namespace property
