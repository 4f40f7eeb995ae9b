# Writes OUTPUT with the commit that SOURCE is of, if that is another one than stands there: at each build, so that one
# file is compiled anew after a commit, and nothing else. Without git it is what `git archive` put into commit.txt, or
# nothing.
cmake_minimum_required(VERSION 3.18...3.25)
set(commit "")
find_program(GIT git)
if(GIT)
  # Not that of a repository which an unpacked archive happens to lie in.
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-cdup OUTPUT_VARIABLE up RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND up STREQUAL "")
    set(ENV{GIT_OPTIONAL_LOCKS} 0)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE commit
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(commit STREQUAL "")
  file(STRINGS ${SOURCE}/env/cli/commit.txt archived REGEX "^[0-9a-f]+$" LIMIT_COUNT 1)
  set(commit "${archived}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define REFRAIN_COMMIT \"${commit}\"\n" @ONLY)
