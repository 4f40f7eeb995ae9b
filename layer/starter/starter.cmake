# Stands in for the C library when starters are linked: they need it by its name, but no version of anything in it.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/nothing.S CONTENT ".section .note.GNU-stack,\"\",@progbits\n")
add_library(refrain_c_library_name SHARED ${CMAKE_CURRENT_BINARY_DIR}/nothing.S)
set_target_properties(refrain_c_library_name PROPERTIES LINKER_LANGUAGE CXX NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
  LINK_OPTIONS "-nostdlib;-fno-sanitize=all;-Wl,-soname,libc.so.6")

# On aarch64, GCC calls libgcc for atomic operations, which may use the newer instructions. What is linked with nothing cannot.
set(refrain_own_atomics)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(refrain_own_atomics -mno-outline-atomics)
endif()

# refrain_bare(NAME): compiled and linked so that it needs the C library, and nothing newer than any.
function(refrain_bare name)
  target_link_libraries(${name} PRIVATE refrain_options -Wl,--no-as-needed refrain_c_library_name)
  set_target_properties(${name} PROPERTIES SKIP_BUILD_RPATH ON
    COMPILE_OPTIONS "-fno-sanitize=all;-fno-exceptions;-fno-rtti;-fno-threadsafe-statics;-fno-stack-protector;${refrain_own_atomics}"
    LINK_OPTIONS "-fno-sanitize=all;-nostdlib;-Wl,-Bsymbolic;-Wl,-z,now")
endfunction()

# refrain_preloaded(NAME): installs a library, and makes the link by which it is preloaded.
#
# The run time of AddressSanitizer wants to be the first library of a process, so that its malloc() is found before others,
# and ends a process where it is not. It goes by the path of the first library as the dynamic linker was given it, in which
# it looks for its own name. Starters define no function of the C library and run no code before they are called, and what
# refrain_exit defines goes on to that run time: they may well stand in front, and are named by links in a folder of such a
# name. The file itself must not be there: a run time that is linked statically takes it for a second one, and goes by where
# files really are.
set(refrain_links ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/beside-libasan.so)
function(refrain_preloaded name)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${refrain_links}
    COMMAND ${CMAKE_COMMAND} -E create_symlink ../$<TARGET_FILE_NAME:${name}> ${refrain_links}/$<TARGET_FILE_NAME:${name}> VERBATIM)
  install(TARGETS ${name} LIBRARY DESTINATION lib/refrain)
  install(FILES ${refrain_links}/$<TARGET_FILE_NAME:${name}> DESTINATION lib/refrain/beside-libasan.so)
endfunction()

# refrain_starter(NAME SONAME … EXPORTS version script LAYER target SOURCES …): what is preloaded in a library's place, and
# opens the layer (starter.h).
function(refrain_starter name)
  cmake_parse_arguments(ARG "" "SONAME;EXPORTS;LAYER" "SOURCES" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/layer/starter)
  add_library(${name} SHARED ${folder}/c_library.cpp ${folder}/candidates.cpp ${folder}/find_layer.cpp
    ${folder}/pass_through.cpp ${folder}/starter.cpp ${PROJECT_SOURCE_DIR}/layer/elf_symbols.cpp ${PROJECT_SOURCE_DIR}/layer/own_bindings.cpp
    ${ARG_SOURCES})
  target_compile_definitions(${name} PRIVATE REFRAIN_VERSION="${PROJECT_VERSION}")
  refrain_bare(${name})
  # No SOVERSION: the file has our name, and the real library's is what programs are linked with.
  set_target_properties(${name} PROPERTIES NO_SONAME ON LINK_DEPENDS ${ARG_EXPORTS})
  target_link_options(${name} PRIVATE -Wl,-soname,${ARG_SONAME} -Wl,--version-script=${ARG_EXPORTS} -Wl,-z,nodelete
    -Wl,--hash-style=both)
  add_dependencies(${name} ${ARG_LAYER})
  refrain_preloaded(${name})
endfunction()

# refrain_own_memory(NAME): the library has a C++ library of its own, with our `new` (own_memory.cpp), also in programs that
# bring an older one, or none; and a copy of what unwinds the stack, for processes that have none (own_unwinder.cpp). Wants
# elf_symbols.cpp among its sources.
set(refrain_unwinder_functions RaiseException Resume Resume_or_Rethrow DeleteException GetGR SetGR GetIP GetIPInfo SetIP GetCFA
  GetLanguageSpecificData GetRegionStart GetDataRelBase GetTextRelBase)
function(refrain_own_memory name)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/layer/own_memory.cpp ${PROJECT_SOURCE_DIR}/layer/own_unwinder.cpp)
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  foreach(function IN LISTS refrain_unwinder_functions)
    target_link_options(${name} PRIVATE -Wl,--wrap=_Unwind_${function})
  endforeach()
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endfunction()

# refrain_own_bindings(NAME): the library asks the C library, not whoever took a name of it (own_bindings.h). The dynamic
# linker calls that function before the library's constructors. Wants elf_symbols.cpp among its sources.
function(refrain_own_bindings name)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/layer/own_bindings.cpp)
  target_link_options(${name} PRIVATE -Wl,-init,refrain_own_bindings)
endfunction()

# refrain_starter_layer(NAME): the library that it opens.
function(refrain_starter_layer name)
  set(exports ${PROJECT_SOURCE_DIR}/layer/starter/layer_exports.map)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${exports})
  # Other people's process: nothing else is visible, and our own calls never reach anybody else's symbols.
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,-Bsymbolic -Wl,-z,now -Wl,--exclude-libs,ALL)
  if(NOT REFRAIN_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
    refrain_own_memory(${name})
    refrain_own_bindings(${name})
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION lib/refrain)
endfunction()
