// cuGetExportTable: the tables that the runtime API 13.0 asks for at its start, as far as a program gets with
// them. NVIDIA documents none of them; what the entries do here is what can be seen of the arguments.
//
// The runtime's test of the driver (table d4082055) is not imitated: it is there to tell a driver of NVIDIA's from
// others, so that a runtime program ends here with cudaErrorSoftwareValidityNotEstablished. By then it has looked
// up all its functions and got all its tables, which is what a layer must not disturb.
#include <cstdio>
#include <cstring>
#include <utility>

#include "test/sim/cuda/face.h"

namespace sim::cuda {
namespace {

constexpr std::size_t kEntries = 48;

// Entry `Index` of table `Table`, if nothing better is known. Different code for each, as in a real driver.
template <int Table, int Index>
long entry() noexcept {
  logf("table %d entry %d", Table, Index);
  return 0;
}

struct Export {
  const void* entries[kEntries + 1];
};

template <int Table, int... Indices>
Export filled(std::integer_sequence<int, Indices...>) noexcept {
  return {
      {reinterpret_cast<const void*>(sizeof(Export)), reinterpret_cast<const void*>(&entry<Table, Indices + 1>)...}};
}
template <int Table>
Export filled() noexcept {
  return filled<Table>(std::make_integer_sequence<int, kEntries>());
}

CUresult primary_of(CUcontext* context, CUdevice device) noexcept {
  log("table 0 entry 2");
  return cuDevicePrimaryCtxRetain(context, device);
}

// The runtime writes into these.
char callback_records[1024 * 8];
void first_buffer(void** buffer, std::size_t* count) noexcept {
  log("table 1 entry 2");
  *buffer = callback_records;
  *count = 1024;
}
char callback_flags[64];
void second_buffer(void** buffer, std::size_t* count) noexcept {
  log("table 1 entry 6");
  *buffer = callback_flags;
  *count = 14;
}

struct Tables {
  Tables() noexcept {
    runtime.entries[2] = reinterpret_cast<const void*>(&primary_of);
    callbacks.entries[2] = reinterpret_cast<const void*>(&first_buffer);
    callbacks.entries[6] = reinterpret_cast<const void*>(&second_buffer);
    local_storage.entries[0] = reinterpret_cast<const void*>(&entry<3, 0>);  // this one does not tell its length
  }
  Export runtime = filled<0>();
  Export callbacks = filled<1>();
  Export tools = filled<2>();
  Export local_storage = filled<3>();
  Export other = filled<4>();
  Export test = filled<5>();
  Export contexts = filled<6>();
};
Tables tables;

}  // namespace

TableName table_name(const CUuuid& id) noexcept {
  TableName name{};
  char* end = name.text;
  for (std::size_t index = 0; index < sizeof(id.bytes); ++index) {
    const bool dash = index == 4 || index == 6 || index == 8 || index == 10;
    end += std::snprintf(end, 4, "%s%02x", dash ? "-" : "", static_cast<unsigned char>(id.bytes[index]));
  }
  return name;
}

}  // namespace sim::cuda

FACE cuGetExportTable(const void** table, const CUuuid* id) {
  const sim::cuda::TableName name = sim::cuda::table_name(*id);
  sim::logf("cuGetExportTable %s", name.text);
  const struct {
    const char* start;
    const sim::cuda::Export* found;
  } known[] = {{"6bd5fb6c", &sim::cuda::tables.runtime}, {"a094798c", &sim::cuda::tables.callbacks},
               {"42d85a81", &sim::cuda::tables.tools},   {"c693336e", &sim::cuda::tables.local_storage},
               {"263e8860", &sim::cuda::tables.other},   {"d4082055", &sim::cuda::tables.test},
               {"21318c60", &sim::cuda::tables.contexts}};
  for (const auto& candidate : known) {
    if (std::strncmp(name.text, candidate.start, 8) == 0) {
      *table = candidate.found;
      return CUDA_SUCCESS;
    }
  }
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
