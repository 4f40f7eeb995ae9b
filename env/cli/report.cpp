#include <sys/stat.h>

#include <fstream>
#include <iostream>
#include <system_error>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/own_file.h"
#include "env/page/page.h"
#include "replay/forecast/forecast.h"

namespace refrain::env {
namespace {

constexpr mode_t kMode = 0600;  // it tells what a capture tells

bool is_page(const std::string& file) {
  std::string first, second;
  std::ifstream in(file, std::ios::binary);
  return std::getline(in, first) && std::getline(in, second) && second == page::kMark;
}

/// Whole or not at all, and never in the place of what is no page.
std::error_code write_page(const std::string& name, const std::string& text) {
  OwnFile file;
  struct stat status {};
  if (::lstat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (const std::error_code error = file.append_to(name, kMode)) return error;
    return {file.write(text), std::generic_category()};
  }
  if (status.st_size != 0 && !is_page(name)) {
    throw std::runtime_error("'" + name + "' is there already, and no page of Refrain's; it stays as it is");
  }
  if (const std::error_code error = file.create_beside(name, kMode)) return error;
  std::error_code error(file.write(text), std::generic_category());
  if (!error) error = file.rename_to(name);
  if (error) file.remove();
  return error;
}

}  // namespace

int report_command(const CommandArguments& arguments) {
  CLI::App app(
      "Makes a page of HTML about a report (--report-file) or a capture. Two files are shown together if one is a\n"
      "report and one a capture, and compared if both are of one kind. The page needs no network and nothing else.",
      "refrain report");
  set_usage(app, "refrain report [OPTIONS] FILE [FILE]");
  app.footer(
      "The exit status is 0 if the page was written, 1 if a file can't be shown or the page not be written, 2 for\n"
      "wrong usage. The page shows what a capture holds, its command line too: look before you pass it on.");
  std::string output = "report.html";
  app.add_option("-o,--output", output, "The page; '-': standard output. A page that is there is replaced")
      ->capture_default_str()
      ->type_name("FILE");
  std::uint64_t max_memory_mb = 0;
  app.add_option("--max-memory-mb", max_memory_mb,
                 "Memory that reading a capture may take; 0: 64 MiB and 32 times the file's size")
      ->capture_default_str()
      ->type_name("MiB")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 24));
  std::vector<std::string> files;
  app.add_option("FILE", files, "Reports and captures");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (files.empty() || files.size() > 2) {
    throw UsageError("report needs one file or two; usage: refrain report [OPTIONS] FILE [FILE]");
  }

  std::vector<nlohmann::json> inputs;
  for (const std::string& file : files)
    inputs.push_back(page::read_input(file, replay::forecast, max_memory_mb << 20U));
  const std::string text = page::make_page(inputs);
  if (output == "-") {
    std::cout << text;
    return kSuccess;
  }
  if (const std::error_code error = write_page(output, text)) {
    throw std::runtime_error("can't write the page to '" + output + "': " + error.message());
  }
  std::cerr << "refrain: wrote " << output << "\n";
  return kSuccess;
}

}  // namespace refrain::env
