#include "env/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "capture/reader.h"
#include "env/page/assets.h"
#include "env/page/capture_data.h"
#include "env/page/report_data.h"

namespace refrain::page {
namespace {

std::string_view asset(std::string_view name) {
  const auto* const found = std::ranges::find(kAssets, name, &Asset::name);
  if (found == std::end(kAssets)) {
    throw std::logic_error("the page has no part " + std::string(name));
  }
  return found->text;
}

/// JSON in which nothing ends the element that it stands in: '<' is written as an escape.
std::string inside_script(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 64);
  for (const char letter : text) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

void put(std::string& page, std::string_view place, std::string_view text) {
  const std::size_t position = page.find(place);
  if (position == std::string::npos) {
    throw std::logic_error("the page has no place for " + std::string(place));
  }
  page.replace(position, place.size(), text);
}

}  // namespace

nlohmann::json read_input(const std::string& file, const capture::Forecast& forecast, std::uint64_t max_memory) {
  return capture::is_capture(file) ? capture_data(file, forecast, max_memory) : report_data(file);
}

std::string make_page(const std::vector<nlohmann::json>& inputs) {
  std::string scripts;
  for (const Asset& part : kAssets) {
    if (part.name.ends_with(".js")) {
      scripts += part.text;
    }
  }
  std::string page(asset("page.html"));
  // From the end to the beginning, so that no text that was put in is looked at again.
  put(page, "/*SCRIPTS*/", scripts);
  put(page, "{\"DATA\":0}",
      inside_script({{"version", 1}, {"writer", "refrain " REFRAIN_VERSION}, {"inputs", inputs}}));
  put(page, "/*STYLES*/", asset("page.css"));
  return page;
}

}  // namespace refrain::page
