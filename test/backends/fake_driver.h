// An OpenCL driver that does nothing but write down what it was asked, with any version of
// cl_khr_command_buffer and mutable dispatch. One at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backends/opencl/command_buffer_api.h"

namespace refrain::test {

using backends::opencl::CommandBufferHandle;
using backends::opencl::make_version;
using backends::opencl::MutableCommand;
using backends::opencl::SyncPoint;

struct FakeDriver {
  std::uint32_t version = make_version(0, 9, 0);
  std::uint32_t mutable_version = 0;
  bool tells_versions = true;
  bool has_extension = true;
  cl_bitfield capabilities = 0;
  cl_bitfield required_queue = 0, supported_queue = 0;
  cl_bitfield updatable = 0;
  cl_bitfield queue_properties = 0;
  std::string missing_function;

  std::vector<std::string> commands;  // as recorded
  std::vector<std::string> updates;
  std::string create_flags;
  int finalized = 0;
  int update_status = CL_SUCCESS;
  bool events_complete = true;
  std::map<const void*, int> references;  // retain and release, per object
  SyncPoint next_sync_point = 100;
  std::uintptr_t next_object = 0x1000;
  cl_icd_dispatch dispatch{};

  FakeDriver();
  ~FakeDriver() { current = nullptr; }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  static inline FakeDriver* current = nullptr;

  template <typename T>
  T object() {
    next_object += 0x10;
    references[reinterpret_cast<void*>(next_object)] = 1;
    return reinterpret_cast<T>(next_object);
  }
  cl_int retain(const void* what) {
    ++references[what];
    return CL_SUCCESS;
  }
  cl_int release(const void* what) { return --references[what] < 0 ? CL_INVALID_VALUE : CL_SUCCESS; }
  cl_int command(const std::string& text, const cl_ulong* properties, cl_uint count, const SyncPoint* waits,
                 SyncPoint* made, MutableCommand* handle) {
    std::ostringstream line;
    line << text;
    if (properties != nullptr) {
      line << " properties " << std::hex << properties[0] << "=" << properties[1] << std::dec
           << (properties[2] == 0 ? "" : " …");
    }
    for (cl_uint i = 0; i < count; ++i) {
      line << " after " << waits[i];
    }
    if (made != nullptr) {
      *made = next_sync_point++;
      line << " makes " << *made;
    }
    if (handle != nullptr) {
      *handle = reinterpret_cast<MutableCommand>(0x5000 + commands.size());
    }
    commands.push_back(line.str());
    return CL_SUCCESS;
  }
  static std::string numbers(const std::size_t* list, std::size_t count) {
    std::ostringstream text;
    for (std::size_t i = 0; i < count; ++i) {
      text << (i != 0 ? "," : "") << (list != nullptr ? std::to_string(list[i]) : "null");
    }
    return text.str();
  }
};

// The structures of mutable dispatch as a driver of each version sees them.
struct FakeArgument {
  cl_uint index;
  std::size_t size;
  const void* value;
};
struct FakeConfig {
  MutableCommand command;
  cl_uint arguments, svm_arguments, exec_infos, dimensions;
  const FakeArgument* list;
  const FakeArgument* svm_list;
  const void* exec_list;
  const std::size_t *offset, *global, *local;
};
struct FakeOldConfig {
  cl_uint type;
  const void* next;
  MutableCommand command;
  cl_uint arguments, svm_arguments, exec_infos, dimensions;
  const FakeArgument* list;
  const FakeArgument* svm_list;
  const void* exec_list;
  const std::size_t *offset, *global, *local;
};
struct FakeOldBase {
  cl_uint type;
  const void* next;
  cl_uint count;
  const FakeOldConfig* list;
};

}  // namespace refrain::test
