# A small grid is run, written and drawn; what is not a result is refused.
execute_process(COMMAND ${PROGRAM} --costs h200 --kinds constant --host-us 1 --device-us 1 3 --launches 10 100
  --calls 5000 --seconds 0 --json ${FOLDER}/picture.json COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/plot ${FOLDER}/picture.json ${FOLDER}/picture.svg
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${FOLDER}/picture.svg cells REGEX "<title>host 1 us, device [13] us, 10+ launches: ")
list(LENGTH cells count)
if(NOT count EQUAL 8) # four points, each in two pictures
  message(FATAL_ERROR "${count} cells instead of 8")
endif()
file(WRITE ${FOLDER}/no_result.json "{}")
execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/plot ${FOLDER}/no_result.json ${FOLDER}/picture.svg
  RESULT_VARIABLE refused ERROR_QUIET)
if(refused EQUAL 0)
  message(FATAL_ERROR "a file without points is drawn")
endif()
