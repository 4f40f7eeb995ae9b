// Code of a kernel of which there may be many with one name, as of libraries that make one for each size of their data.
#pragma once

#include <string>

/// An image for cuLibraryLoadData(). Its kernel `tagged` mixes `tag`, a variable of the image, into what it writes.
inline std::string tagged_code(unsigned tag) {
  return ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .align 4 .u32 calls = " +
         std::to_string(tag) +
         ";\n.visible .entry tagged(.param .u64 .ptr .global .align 4 x) { ld.global.u32 %r1, [calls]; }\n";
}
