// Reports and captures, for commands that compare them.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "env/cli/options.h"
#include "env/page/page.h"
#include "replay/forecast/forecast.h"

namespace refrain::env {

/// What the page shows of a file. Throws UsageError, so that a status of 1 is left for what was found in it.
inline nlohmann::json read_input(const std::string& file) {
  try {
    return page::read_input(file, replay::forecast);
  } catch (const std::runtime_error& problem) {
    throw UsageError(problem.what());
  }
}

}  // namespace refrain::env
