# So many seconds a test may take: the error tests start hundreds of processes, and instrumented or emulated ones are slow.
set(refrain_timeout 300)
if(REFRAIN_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(refrain_timeout 1200)
endif()

# A name that fits no test is an error. From version 3 on Catch2 sees to that by itself.
if(Catch2_VERSION VERSION_LESS 3)
  set(refrain_no_tests --warn NoTests)
endif()

# refrain_test(NAME name SOURCES … LIBRARIES …): a Catch2 executable; ctest sees its cases one by one. Executables with cases
# that do more where TEST_NIGHTLY is set have the label "nightly".
function(refrain_test)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBRARIES;PROPERTIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES} $<TARGET_OBJECTS:refrain_catch_main>)
  target_link_libraries(${ARG_NAME} PRIVATE refrain_program refrain_catch ${ARG_LIBRARIES})
  # What is tested is in libraries, as fast as users get it.
  target_compile_options(${ARG_NAME} PRIVATE ${REFRAIN_COLD})
  foreach(source IN LISTS ARG_SOURCES)
    file(STRINGS ${source} asks REGEX "nightly\\(\\)|TEST_NIGHTLY|support/same.h|level_zero/compare.h|cuda/contract.h" LIMIT_COUNT 1)
    if(asks AND source MATCHES "_test.cpp$")
      list(APPEND ARG_PROPERTIES LABELS nightly)
      break()
    endif()
  endforeach()
  catch_discover_tests(${ARG_NAME} EXTRA_ARGS ${refrain_no_tests} TEST_PREFIX "${ARG_NAME}: " PROPERTIES TIMEOUT ${refrain_timeout} ${ARG_PROPERTIES} DISCOVERY_MODE PRE_TEST)
endfunction()
