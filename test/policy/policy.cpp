// Runs the grid of docs/policy.md and writes what it found as JSON.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "test/policy/grid.h"

int main(int argc, char** argv) {
  using namespace refrain::policy;
  try {
    CLI::App app("Replay against eager and the best fixed plan, in virtual time.");
    GridChoice choice;
    std::string json;
    app.add_option("--costs", choice.costs, "cost sets: h200, h200-late, h200-cold, opencl, pocl");
    app.add_option("--kinds", choice.kinds, "programs: constant, scalar, forkjoin, gap, inner, framework, lengths");
    app.add_option("--host-us", choice.host_us, "host time per launch");
    app.add_option("--device-us", choice.device_us, "device time per launch");
    app.add_option("--launches", choice.launches, "launches between two waits");
    app.add_option("--calls", choice.calls, "calls per run, at least");
    app.add_option("--seconds", choice.seconds, "virtual time per run, at least");
    app.add_option("--json", json, "file for the result");
    app.add_flag("--report", choice.print_report, "print the engine's own report for every point");
    app.add_flag("--points", choice.print_points, "print every point");
    CLI11_PARSE(app, argc, argv);
    const GridResult result = run_grid(choice, std::cerr);
    if (!json.empty()) {
      std::ofstream file(json);
      write_json(result, file);
      if (!file.flush()) {
        std::cerr << "cannot write " << json << "\n";
        return 1;
      }
    }
    print_summary(result, std::cout);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
