# Writes FILES as one header: an array of names and texts.
# Usage: cmake -DFILES=a;b -DOUTPUT=assets.h -P embed.cmake
set(header "// Made by env/page/embed.cmake.\n#pragma once\n\n#include <string_view>\n\nnamespace refrain::page {\n\n")
string(APPEND header "struct Asset {\n  std::string_view name, text;\n};\n\ninline constexpr Asset kAssets[] = {\n")
foreach(file IN LISTS FILES)
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  if(text MATCHES "\\)asset\"")
    message(FATAL_ERROR "${file}: holds what ends a literal")
  endif()
  string(APPEND header "    {\"${name}\",\n     R\"asset(${text})asset\"},\n")
endforeach()
string(APPEND header "};\n\n}  // namespace refrain::page\n")
file(WRITE ${OUTPUT} "${header}")
