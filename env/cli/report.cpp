#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/marked_file.h"
#include "env/cli/options.h"
#include "env/cli/output_files.h"
#include "env/page/page.h"
#include "replay/forecast/forecast.h"

namespace refrain::env {

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

  const MarkedFile made{output, page::kMark, "page"};
  if (output != "-") {
    refuse_input(output, "-o", files);
    made.check();
  }
  std::vector<nlohmann::json> inputs;
  for (const std::string& file : files)
    inputs.push_back(page::read_input(file, replay::forecast, max_memory_mb << 20U));
  const std::string text = page::make_page(inputs);
  if (output == "-") {
    std::cout << text;
    return kSuccess;
  }
  made.write(text);
  std::cerr << "refrain: wrote " << output << "\n";
  return kSuccess;
}

}  // namespace refrain::env
