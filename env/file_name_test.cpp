#include "env/file_name.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "env/own_file.h"
#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

using Catch::Contains;

Lookup among(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST_CASE("process, program and host are put into names") {
  const std::string id = std::to_string(::getpid());
  utsname system{};
  REQUIRE(::uname(&system) == 0);
  CHECK(FileName("a.%p.rfn").text() == "a." + id + ".rfn");
  CHECK(FileName("%n-%p%p").text() == std::string(program_invocation_short_name) + "-" + id + id);
  CHECK(FileName("%h.rfn").text() == std::string(system.nodename) + ".rfn");
  CHECK(FileName("100%%p %%%% ").text() == "100%p %% ");
  CHECK(FileName("").text().empty());
}

TEST_CASE("each launcher's rank and each batch system's job are found, and are 0 without one") {
  const auto text = [](std::map<std::string, std::string> variables) {
    return FileName("%j.%r", among(std::move(variables))).text();
  };
  for (const char* rank : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PALS_RANKID"}) {
    CHECK(text({{rank, "17"}}) == "0.17");
  }
  for (const char* job : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "PJM_JOBID"}) {
    CHECK(text({{job, "4711.server"}}) == "4711.server.0");
  }
  CHECK(text({}) == "0.0");
  CHECK(text({{"PMI_RANK", ""}, {"SLURM_PROCID", "3"}}) == "0.3");
}

TEST_CASE("what mpirun starts inside a job of SLURM has the rank of mpirun") {
  const Lookup both = among({{"SLURM_PROCID", "0"}, {"OMPI_COMM_WORLD_RANK", "5"}, {"SLURM_JOB_ID", "9"}});
  CHECK(FileName("%j-%r", both).text() == "9-5");
}

TEST_CASE("what the environment says never leads to another folder, and is no placeholder") {
  CHECK(FileName("/out/%r.rfn", among({{"PMI_RANK", "../../etc/x"}})).text() == "/out/.._.._etc_x.rfn");
  CHECK(FileName("%j", among({{"PBS_JOBID", "a\n%p%i"}})).text() == "a_%p%i");
  CHECK_FALSE(FileName("%j", among({{"PBS_JOBID", "%i"}})).counted());
}

TEST_CASE("unknown placeholders are told with those that there are") {
  for (const char* fine : {"", "a.rfn", "%p%n%h%r%j%i%%", "100%%x"}) CHECK(FileName::problem(fine).empty());
  CHECK_THAT(FileName::problem("a.%x.rfn"), Contains("unknown placeholder '%x'") && Contains("%h (host)"));
  CHECK_THAT(FileName::problem("%p%%%"), Contains("unknown placeholder '%'"));
  CHECK(FileName("%x %").text() == "%x %");
}

TEST_CASE("a name is its own pattern once it is made literal") {
  CHECK(FileName(FileName::literal("/50%off/%p")).text() == "/50%off/%p");
  CHECK(FileName(FileName::literal("/50%off/%p")).fixed());
  CHECK_FALSE(FileName("%r").fixed());
}

TEST_CASE("the counter takes the lowest number that is free, and writes nothing over") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("x.1.rfn")) << "of somebody";
  std::ofstream(folder.file("x.2.rfn")) << "";  // empty, and somebody's all the same
  std::ofstream(folder.file("x.4.rfn")) << "";
  const FileName name(folder.file("x.%i.rfn"));
  CHECK(name.counted());
  CHECK(name.free_text() == folder.file("x.3.rfn"));
  OwnFile third;
  OwnFile fifth;
  CHECK_FALSE(third.create(name, 0600));
  CHECK_FALSE(fifth.append_to(name, 0600));
  CHECK(third.name() == folder.file("x.3.rfn"));
  CHECK(fifth.name() == folder.file("x.5.rfn"));
  CHECK(OwnFile::busy(third.name()) == false);  // locks are a process's own
  CHECK(std::filesystem::file_size(folder.file("x.1.rfn")) == 11);
}

TEST_CASE("processes that count at once never share a file") {
  constexpr int kProcesses = 8;
  constexpr int kFiles = 10;
  const test::ScratchFolder folder;
  const FileName name(folder.file("x.%i"));
  for (int process = 0; process < kProcesses; ++process) {
    if (::fork() != 0) continue;
    int failed = 0;
    for (int number = 0; number < kFiles; ++number) {
      OwnFile file;
      const bool made = !(process % 2 == 0 ? file.create(name, 0600) : file.append_to(name, 0600));
      failed += made && file.write("x") == 0 ? 0 : 1;
    }
    ::_exit(failed);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = -1;
    ::wait(&status);
    CHECK(status == 0);
  }
  CHECK(folder.files().size() == std::size_t{kProcesses} * kFiles);
  for (const std::string& file : folder.files()) CHECK(std::filesystem::file_size(file) == 1);
}

TEST_CASE("a counter in a folder that is not there is an error at once") {
  OwnFile file;
  CHECK(file.create(FileName("/nowhere/x.%i"), 0600) == std::errc::no_such_file_or_directory);
  CHECK(file.append_to(FileName("/nowhere/x.%i"), 0600) == std::errc::no_such_file_or_directory);
}

}  // namespace
}  // namespace refrain::env
