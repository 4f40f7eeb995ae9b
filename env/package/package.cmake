# What packages say of us: Debian's and RPM, both of what is installed. `cpack` makes the Debian package.
set(REFRAIN_PACKAGER "Refrain developers <refrain@example.org>" CACHE STRING "Whom a package names as its maintainer")

# A package has a log of its versions, compressed; the time is SOURCE_DATE_EPOCH if that is set.
find_program(GZIP gzip)
mark_as_advanced(GZIP)
if(GZIP)
  string(TIMESTAMP time "%a, %d %b %Y %H:%M:%S +0000" UTC)
  set(changelog ${CMAKE_CURRENT_BINARY_DIR}/package/changelog)
  # (CMake 3.18 configures no file with a "<" in it.)
  string(CONFIGURE
    "refrain (@PROJECT_VERSION@) unstable; urgency=medium\n\n  * Version @PROJECT_VERSION@.\n\n -- @REFRAIN_PACKAGER@  @time@\n" changelog_text @ONLY)
  file(WRITE ${changelog} "${changelog_text}")
  execute_process(COMMAND ${GZIP} -9nkf ${changelog} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${GZIP} failed for ${changelog}")
  endif()
  install(FILES ${changelog}.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(FILES ${PROJECT_SOURCE_DIR}/layer/refrain.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Where programs that call Refrain find its header; it works from wherever an archive was unpacked.
set(pc_folder ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH up /prefix/${pc_folder} /prefix)
string(REGEX REPLACE "/$" "" up "${up}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/refrain.pc.in ${CMAKE_CURRENT_BINARY_DIR}/package/refrain.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/refrain.pc DESTINATION ${pc_folder})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${REFRAIN_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
file(READ ${CMAKE_CURRENT_LIST_DIR}/description description)
set(CPACK_PACKAGE_DESCRIPTION "${description}")

# Otherwise it is the architecture of the machine that builds.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Which libraries the program and the layer need is read from the files themselves.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The layer is used through a loader that knows layers; the program itself opens it at run time.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ocl-icd-libopencl1 (>= 2.3) | libopencl1")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "pocl-opencl-icd")

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_GROUP "Development/Tools")
set(CPACK_RPM_PACKAGE_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${description}")
# What is preloaded has the names of drivers, which nobody may think this package brings.
set(CPACK_RPM_PACKAGE_AUTOREQPROV " no")
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= 2.28")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define packager ${REFRAIN_PACKAGER}")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/doc /usr/share /usr/share/man /usr/share/man/man1 /usr/include
  /usr/share/pkgconfig /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions
  /usr/share/fish /usr/share/fish/vendor_completions.d)
include(CPack)
