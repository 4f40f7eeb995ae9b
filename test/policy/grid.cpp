#include "test/policy/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

namespace refrain::policy {

Costs costs_named(const std::string& name) {
  for (const Costs& costs : {h200(), h200_late(), h200_cold(), opencl(), pocl()}) {
    if (costs.name == name) {
      return costs;
    }
  }
  throw std::runtime_error("no cost set is called " + name);
}

Kind kind_named(const std::string& name) {
  const auto* found = std::find(std::begin(kKindNames), std::end(kKindNames), name);
  if (found == std::end(kKindNames)) {
    throw std::runtime_error("no program is called " + name);
  }
  return static_cast<Kind>(found - std::begin(kKindNames));
}

Point run_point(const Costs& costs, Kind kind, double host_us, double device_us, std::size_t launches,
                std::uint64_t calls, double seconds) {
  const auto ns = [](double us) { return static_cast<Ns>(std::llround(us * 1000)); };
  Point point;
  point.costs = costs.name;
  point.program = make_program(kind, ns(host_us), ns(device_us), launches);
  point.eager = eager_interval(point.program, costs);
  point.best = best_plan(point.program, costs);
  env::Settings settings;
  settings.report = false;
  point.run = run_engine(point.program, costs, settings, calls, ns(seconds * 1e6));
  return point;
}

GridResult run_grid(const GridChoice& choice, std::ostream& progress) {
  GridResult result{choice, {}};
  for (const std::string& name : choice.costs) {
    const Costs costs = costs_named(name);
    for (const std::string& kind : choice.kinds) {
      for (const double host : choice.host_us) {
        for (const double device : choice.device_us) {
          for (const std::size_t launches : choice.launches) {
            const Point point =
                run_point(costs, kind_named(kind), host, device, launches, choice.calls, choice.seconds);
            if (choice.print_points) {
              progress << fmt::format(
                  "{} {} host {} device {} launches {}: whole/eager {:.3f} steady/eager {:.3f} steady/best {:.3f} ({}: "
                  "{:.1f} us, eager {:.1f} us) replayed {:.2f} warm-up {} calls of {}; {}\n",
                  name, kind, host, device, launches, point.whole_to_eager(), point.steady_to_eager(),
                  point.steady_to_best(), point.best.name, static_cast<double>(point.best.interval) / 1000,
                  static_cast<double>(point.eager) / 1000, point.run.replayed, point.run.warm_up, point.run.calls,
                  point.run.why);
            }
            if (choice.print_report) {
              progress << point.run.report << "\n";
            }
            result.points.push_back(point);
            result.points.back().run.report.clear();
          }
        }
      }
    }
  }
  return result;
}

void write_json(const GridResult& result, std::ostream& file) {
  nlohmann::ordered_json json;
  const GridChoice& choice = result.choice;
  json["grid"] = {{"costs", choice.costs},
                  {"kinds", choice.kinds},
                  {"host_us", choice.host_us},
                  {"device_us", choice.device_us},
                  {"launches", choice.launches},
                  {"calls_at_least", choice.calls},
                  {"seconds_at_least", choice.seconds}};
  for (const Point& point : result.points) {
    json["points"].push_back({{"costs", point.costs},
                              {"kind", kKindNames[static_cast<std::size_t>(point.program.kind)]},
                              {"host_us", static_cast<double>(point.program.host) / 1000},
                              {"device_us", static_cast<double>(point.program.device) / 1000},
                              {"launches", point.program.launches},
                              {"eager_interval_us", static_cast<double>(point.eager) / 1000},
                              {"best_interval_us", static_cast<double>(point.best.interval) / 1000},
                              {"best_plan", point.best.name},
                              {"steady_interval_us", point.run.steady / 1000},
                              {"worst_interval_us", static_cast<double>(point.run.worst_interval) / 1000},
                              {"whole_to_eager", point.whole_to_eager()},
                              {"steady_to_eager", point.steady_to_eager()},
                              {"steady_to_best", point.steady_to_best()},
                              {"replayed", point.run.replayed},
                              {"calls", point.run.calls},
                              {"virtual_ms", static_cast<double>(point.run.total) / 1e6},
                              {"warm_up_calls", point.run.warm_up}});
  }
  file << json.dump(1) << "\n";
}

void print_summary(const GridResult& result, std::ostream& out) {
  out << fmt::format("{:10} {:9} {:>6} {:>12} {:>13} {:>10} {:>11} {:>15}\n", "costs", "program", "points",
                     "whole/eager", "steady/eager", "over 1.02", "within 5 %", "warm-up median");
  for (const std::string& costs : result.choice.costs) {
    for (const std::string& kind : result.choice.kinds) {
      std::size_t count = 0;
      std::size_t near = 0;
      std::size_t over = 0;
      double whole = 0;
      double steady = 0;
      std::vector<std::uint64_t> warm_up;
      for (const Point& point : result.points) {
        if (point.costs == costs && kKindNames[static_cast<std::size_t>(point.program.kind)] == kind) {
          ++count;
          near += point.steady_to_best() <= 1.05 ? 1 : 0;
          over += point.whole_to_eager() > 1.02 || point.steady_to_eager() > 1.02 ? 1 : 0;
          whole = std::max(whole, point.whole_to_eager());
          steady = std::max(steady, point.steady_to_eager());
          warm_up.push_back(point.run.warm_up);
        }
      }
      std::sort(warm_up.begin(), warm_up.end());
      out << fmt::format("{:10} {:9} {:>6} {:>12.4f} {:>13.4f} {:>10} {:>9.1f} % {:>15}\n", costs, kind, count, whole,
                         steady, over,
                         100.0 * static_cast<double>(near) / static_cast<double>(std::max(count, std::size_t{1})),
                         warm_up.empty() ? 0 : warm_up[warm_up.size() / 2]);
    }
  }
}

}  // namespace refrain::policy
