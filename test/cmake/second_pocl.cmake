# A second OpenCL driver for the tests: a PoCL that env/pocl built, if there is one. What runs on OpenCL's driver says so
# with one of the functions below, and runs on both.
set(REFRAIN_POCL "" CACHE STRING "Install folder of a second PoCL for the tests; empty: the newest that env/pocl built; off: none")
set(second_pocl "${REFRAIN_POCL}")
if(second_pocl STREQUAL "")
  file(GLOB found LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/build/pocl/[0-9]*)
  list(SORT found COMPARE NATURAL ORDER DESCENDING)
  if(found)
    list(GET found 0 second_pocl)
  endif()
endif()
if(second_pocl AND NOT EXISTS ${second_pocl}/vendors/pocl.icd)
  message(FATAL_ERROR "REFRAIN_POCL: there is no ${second_pocl}/vendors/pocl.icd")
endif()
if(second_pocl)
  get_filename_component(second_pocl_version ${second_pocl} NAME)
  message(STATUS "OpenCL tests run on PoCL ${second_pocl_version} as well (${second_pocl})")
else()
  message(STATUS "OpenCL tests run on the installed driver alone; env/pocl builds a second one")
endif()

# refrain_on_second_pocl(EXECUTABLE…): the cases of Catch2 executables.
function(refrain_on_second_pocl)
  if(second_pocl)
    foreach(executable IN LISTS ARGN)
      catch_discover_tests(${executable} EXTRA_ARGS ${refrain_no_tests} --name PoCL-${second_pocl_version}
        TEST_PREFIX "PoCL ${second_pocl_version}: ${executable}: "
        TEST_LIST ${executable}_on_second_pocl DISCOVERY_MODE PRE_TEST
        PROPERTIES TIMEOUT ${refrain_timeout} ENVIRONMENT OCL_ICD_VENDORS=${second_pocl}/vendors)
    endforeach()
  endif()
endfunction()

# refrain_command_on_second_pocl(NAME COMMAND…): any other test.
function(refrain_command_on_second_pocl name)
  if(second_pocl)
    add_test(NAME "PoCL ${second_pocl_version}: ${name}" COMMAND ${ARGN})
    set_tests_properties("PoCL ${second_pocl_version}: ${name}" PROPERTIES TIMEOUT 600 ENVIRONMENT OCL_ICD_VENDORS=${second_pocl}/vendors)
  endif()
endfunction()
