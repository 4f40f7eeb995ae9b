// The stubs and the resolver from inside: this program contains them, and what it calls are its own cu* stubs.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/driver_search.h"
#include "layer/cuda/export_tables.h"
#include "layer/cuda/functions.h"
#include "layer/cuda/images.h"
#include "layer/cuda/library_facts.h"
#include "layer/cuda/real_library.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"
#include "layer/elf_exports.h"
#include "layer/streams/launch.h"

extern "C" CUresult cuProfilerStart();

namespace refrain::layer::cuda {
namespace {

using interpose::HostStubs;

std::vector<std::string> seen;
void hook(const replay::EntryPoint& entry_point) noexcept {
  seen.emplace_back(entry_point.name);
}

/// The driver loaded, and the hook called for every host call.
struct Watching {
  Watching() {
    setenv("REFRAIN_CUDA_DRIVER", SIM_CUDA, 1);
    REQUIRE(::cuInit(0) == CUDA_SUCCESS);
    seen.clear();
    HostStubs::set_hook(&hook);
    real_library.stubs().set_watching(true);
  }
  ~Watching() {
    real_library.stubs().set_watching(false);
    HostStubs::set_hook(nullptr);
  }
};

std::uint32_t index_of(std::string_view name) {
  const auto entries = real_library.stubs().entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [name](const interpose::EntryDescription& entry) {
    return name == entry.entry.name;
  });
  REQUIRE(found != entries.end());
  return static_cast<std::uint32_t>(found - entries.begin());
}

template <class Function>
Function* look_up(const char* name, int version, cuuint64_t flags = 0) {
  void* found = nullptr;
  REQUIRE(::cuGetProcAddress_v2(name, &found, version, flags, nullptr) == CUDA_SUCCESS);
  return reinterpret_cast<Function*>(found);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// What a stub passed on: integers in registers and on the stack, and floating point.
double passed[16];
double take_everything(long a, long b, long c, long d, long e, long f, long g, long h, double i, double j, float k,
                       double l, double m, double n, double o, double p) {
  const double values[16] = {double(a), double(b), double(c), double(d), double(e), double(f), double(g), double(h),
                             i,         j,         k,         l,         m,         n,         o,         p};
  std::memcpy(passed, values, sizeof(passed));
  return 42.5;
}

}  // namespace

TEST_CASE("a launch's record holds every parameter, and zeros between them, whatever was there before") {
  const std::uint32_t sizes[] = {1, 3, 4, 5, 8, 12, 0, 16, 2};
  streams::FunctionState function;
  std::vector<std::byte> buffer;
  std::vector<void*> parameters;
  for (const std::uint32_t size : sizes) {
    function.add_parameter(size, static_cast<std::uint32_t>(buffer.size()));
    for (std::uint32_t i = 0; i < size; ++i) {
      buffer.push_back(static_cast<std::byte>(0x10 + buffer.size()));
    }
  }
  function.end_parameters();
  for (const std::uint32_t offset : function.buffer_offsets) {
    parameters.push_back(buffer.data() + offset);
  }
  const std::uint64_t extra = 0x1122334455667788;
  const bool in_buffer = GENERATE(false, true);
  const bool with_more = GENERATE(false, true);
  const streams::Launch launch{entry::cuLaunchKernel,
                               77,
                               {2, 3, 4},
                               {32, 2, 1},
                               48,
                               in_buffer ? nullptr : parameters.data(),
                               in_buffer ? std::span<const std::byte>(buffer) : std::span<const std::byte>(),
                               nullptr,
                               with_more ? std::as_bytes(std::span(&extra, 1)).first(6) : std::span<const std::byte>()};
  CHECK(streams::reason_not_to_hold(launch, &function) == nullptr);
  capture::RecordBytes storage(1024, std::byte{0xAB});
  storage.clear();
  capture::OperationWriter writer(storage);
  streams::describe_launch(launch, &function, true, writer, 5);
  REQUIRE(capture::OperationView::well_formed(storage));
  const capture::OperationView view(storage.data());
  CHECK(view.token() == 5);
  CHECK(view.header().function_handle == 77);
  const auto& shape = view.as<capture::words::Kernel>();
  CHECK(shape.dimensions == 3);
  CHECK(shape.offset == capture::words::Three{0, 0, 0});
  CHECK(shape.global == capture::words::Three{64, 6, 4});
  CHECK(shape.local == capture::words::Three{32, 2, 1});
  REQUIRE(view.arguments().size() == std::size(sizes) + (with_more ? 2 : 1));
  CHECK(view.arguments()[std::size(sizes)].size == 48);
  std::vector<std::byte> expected;
  const auto add = [&](const std::byte* from, std::size_t size) {
    expected.insert(expected.end(), from, from + size);
    expected.resize((expected.size() + 7) / 8 * 8);
  };
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    add(buffer.data() + function.buffer_offsets[i], sizes[i]);
  }
  if (with_more) {
    add(reinterpret_cast<const std::byte*>(&extra), 6);
  }
  CHECK(std::equal(expected.begin(), expected.end(), view.values().begin(), view.values().end()));
}

TEST_CASE("the list has every function of cuda.h 13.0 once") {
  std::set<std::string> names;
  for (const interpose::EntryDescription& description : real_library.stubs().entries()) {
    CHECK(names.insert(description.entry.name).second);
  }
  CHECK(sizeof(DriverFunctions) / sizeof(void*) == 634);
  CHECK(names.size() == 672);  // and those of other headers
}

TEST_CASE("host calls call the hook, neutral and typed ones do not", "[promise-2]") {
  const Watching watching;
  char name[16];
  CHECK(::cuDeviceGetName(name, sizeof(name), 0) == CUDA_SUCCESS);
  void* found = nullptr;
  CHECK(::cuGetProcAddress_v2("cuInit", &found, 2000, 0, nullptr) == CUDA_SUCCESS);
  CHECK(seen.empty());
  CHECK(::cuProfilerStart() == CUDA_ERROR_NOT_SUPPORTED);  // the simulated device has a name for it, no more
  CHECK(seen == std::vector<std::string>{"cuProfilerStart"});
  real_library.stubs().set_watching(false);
  CHECK(::cuProfilerStart() == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(seen.size() == 1);
}

TEST_CASE("addresses from cuGetProcAddress are ours by class") {
  const Watching watching;
  CHECK(address(look_up<void()>("cuCtxSynchronize", 2000)) ==
        real_library.stubs().address(index_of("cuCtxSynchronize")));
  CHECK(address(look_up<void()>("cuStreamSynchronize", 7000)) ==
        real_library.stubs().address(index_of("cuStreamSynchronize")));
  CHECK(address(look_up<void()>("cuStreamSynchronize", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) ==
        real_library.stubs().address(index_of("cuStreamSynchronize_ptsz")));
  CHECK(address(look_up<void()>("cuGetProcAddress", 11030)) ==
        real_library.stubs().address(index_of("cuGetProcAddress")));
  CHECK(address(look_up<void()>("cuGetProcAddress", 12000)) ==
        real_library.stubs().address(index_of("cuGetProcAddress_v2")));
  CHECK(address(look_up<void()>("cuGetExportTable", 3000)) ==
        real_library.stubs().address(index_of("cuGetExportTable")));
  // Neutral: the driver's own.
  CHECK(address(look_up<void()>("cuCtxGetDevice", 2000)) == real_library.function("cuCtxGetDevice"));
  CHECK(address(look_up<void()>("cuDeviceTotalMem", 13000)) == real_library.function("cuDeviceTotalMem_v2"));
  CHECK(seen.empty());
  // What a typed stub leads to is the wrapper, and nothing else.
  CHECK(real_library.stubs().target(index_of("cuGetProcAddress_v2")) == address(&wrap::cuGetProcAddress_v2));
  CHECK(real_library.stubs().target(index_of("cuProfilerStart")) == real_library.function("cuProfilerStart"));
}

TEST_CASE("look-ups that fail stay as the driver answered them") {
  const Watching watching;
  void* found = address(&hook);
  CUdriverProcAddressQueryResult result{};
  CHECK(::cuGetProcAddress_v2("", &found, 0, 0, &result) == CUDA_ERROR_INVALID_VALUE);
  CHECK(found == address(&hook));
  CHECK(::cuGetProcAddress_v2("cuNowhere", &found, 13000, 0, &result) == CUDA_ERROR_NOT_FOUND);
  CHECK(found == nullptr);
  CHECK(result == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK(::cuGetProcAddress_v2(nullptr, &found, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(::cuGetProcAddress_v2("cuInit", nullptr, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a function of a newer driver is a host call", "[promise-2]") {
  const Watching watching;
  auto* function = look_up<int(int*)>("cuFutureWork", 13000);
  CHECK(address(function) != real_library.function("cuFutureWork"));
  CHECK(function == look_up<int(int*)>("cuFutureWork", 13000));
  int value = 1;
  CHECK(function(&value) == 0);
  CHECK(value == 2);
  CHECK(seen == std::vector<std::string>{"cuFutureWork"});
  CHECK(real_library.counts().unknown == 1);
}

TEST_CASE("tables of the driver are copied, with stubs for its functions") {
  const Watching watching;
  const CUuuid contexts{
      {0x21, 0x31, '\x8c', 0x60, '\x97', 0x14, 0x32, 0x48, '\x8c', '\xa6', 0x41, '\xff', 0x73, 0x24, '\xc8', '\xf2'}};
  const std::string name = "21318c60-9714-3248-8ca6-41ff7324c8f2";
  CHECK(table_name(contexts) == name);
  const void* ours = nullptr;
  const void* again = nullptr;
  const void* theirs = nullptr;
  REQUIRE(::cuGetExportTable(&ours, &contexts) == CUDA_SUCCESS);
  REQUIRE(::cuGetExportTable(&again, &contexts) == CUDA_SUCCESS);
  REQUIRE(driver.cuGetExportTable(&theirs, &contexts) == CUDA_SUCCESS);
  CHECK(ours == again);
  REQUIRE(ours != theirs);
  const auto* copy = static_cast<void* const*>(ours);
  const auto* original = static_cast<void* const*>(theirs);
  CHECK(copy[0] == original[0]);
  const auto call = [copy](std::size_t index) { return reinterpret_cast<long (*)()>(copy[index])(); };
  // Entries that only read a number are the driver's own, and no host calls; all the others are.
  for (const std::size_t index : {1U, 2U, 3U, 4U, 5U, 6U, 48U}) {
    CAPTURE(index);
    const bool neutral = index >= 3 && index <= 5;
    CHECK((copy[index] == original[index]) == neutral);
    seen.clear();
    CHECK(call(index) == 0);
    CHECK(seen == (neutral ? std::vector<std::string>{}
                           : std::vector<std::string>{"table " + name + " entry " + std::to_string(index)}));
  }
}

TEST_CASE("entries are the driver's own in the table that they are known of, and in no other one") {
  const Watching watching;
  static const struct {
    std::size_t length;
    int (*entries[6])();
  } table = {
      sizeof(table),
      {[] { return 1; }, [] { return 2; }, [] { return 3; }, [] { return 4; }, [] { return 5; }, [] { return 6; }}};
  const CUuuid other{{1, 2, 3}};
  const auto* copy = static_cast<void* const*>(watched_table(&table, other));
  for (int index = 1; index <= 6; ++index) {
    CAPTURE(index);
    seen.clear();
    CHECK(reinterpret_cast<int (*)()>(copy[index])() == index);
    CHECK(seen == std::vector<std::string>{"table " + table_name(other) + " entry " + std::to_string(index)});
  }
}

TEST_CASE("without a driver nobody is left with an address that was there before") {
  CUdriverProcAddressQueryResult result{};
  void* found = address(&hook);
  const auto look_up =
      reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(missing_functions.no_library("cuGetProcAddress_v2"));
  CHECK(look_up("cuInit", &found, 13000, 0, &result) == CUDA_ERROR_NO_DEVICE);
  CHECK(found == nullptr);
  CHECK(result == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  found = address(&hook);
  const auto older = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
      missing_functions.no_library("cuGetProcAddress"));
  CHECK(older("cuInit", &found, 13000, 0) == CUDA_ERROR_NO_DEVICE);
  CHECK(found == nullptr);
}

namespace {

/// The device's primary context, current.
struct InContext {
  InContext() {
    CUcontext context = nullptr;
    REQUIRE(::cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(::cuCtxSetCurrent(context) == CUDA_SUCCESS);
  }
  ~InContext() { ::cuDevicePrimaryCtxRelease_v2(0); }
};

/// Keeps nothing.
struct Recorder : capture::Recorder {
  struct Stream : capture::Stream {
    void operation(const capture::OperationView& /*operation*/) noexcept override {}
    void host_call(const char* /*entry_point*/, std::uint64_t /*time_ns*/) noexcept override {}
    void region(const env::Region* /*region*/) noexcept override {}
  } stream;
  Recorder() { runtime.recorder = this; }
  ~Recorder() override { runtime.recorder = nullptr; }
  void define_all(const capture::Definitions& /*definitions*/) noexcept override {}
  void code(const capture::CodeInfo& /*info*/) noexcept override {}
  void contents(capture::ObjectId /*buffer*/, std::span<const std::byte> /*bytes*/) noexcept override {}
  [[nodiscard]] bool wants_contents() const noexcept override { return false; }
  capture::Stream& open_stream(std::uint64_t /*lane*/) override { return stream; }
  void flush() noexcept override {}
};

}  // namespace

TEST_CASE("nothing is known of a kernel when its library is unloaded or its context gone") {
  const Watching watching;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  {
    const InContext context;
    REQUIRE(::cuLibraryLoadData(&library, "kernels", nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
    REQUIRE(::cuLibraryGetKernel(&kernel, library, "scale") == CUDA_SUCCESS);
    const streams::FunctionState* known = find_function(reinterpret_cast<CUfunction>(kernel));
    REQUIRE(known != nullptr);
    CHECK(known->name == "scale");
    CHECK(::cuLibraryUnload(library) == CUDA_SUCCESS);
    CHECK(objects.functions.find(handle_of(kernel)) == nullptr);

    REQUIRE(::cuModuleLoadData(&module, "kernels") == CUDA_SUCCESS);
    REQUIRE(::cuModuleGetFunction(&function, module, "scale") == CUDA_SUCCESS);
    REQUIRE(find_function(function) != nullptr);
  }
  CHECK(objects.functions.find(handle_of(function)) == nullptr);
}

TEST_CASE("a kernel whose image is not known does not get that of the kernel that had its handle before") {
  const Watching watching;
  const InContext context;
  const Recorder recorder;
  constexpr capture::FunctionId kUnknown = 77;
  const auto handle_in = [](const char* image, CUmodule* module) {
    CUfunction function = nullptr;
    REQUIRE(::cuModuleLoadData(module, image) == CUDA_SUCCESS);
    REQUIRE(::cuModuleGetFunction(&function, *module, "scale") == CUDA_SUCCESS);
    return function;
  };
  CUmodule module = nullptr;
  CUfunction first = handle_in(".version 8.0\n.target sm_90\n.address_size 64\n", &module);
  CHECK(record_function(first, "scale", kUnknown) != kUnknown);
  REQUIRE(::cuModuleUnload(module) == CUDA_SUCCESS);
  CUfunction second = handle_in("\x01 is in no text, and begins no binary", &module);
  REQUIRE(second == first);  // the simulated device gives handles again
  CHECK(record_function(second, "scale", kUnknown) == kUnknown);
  CHECK(::cuModuleUnload(module) == CUDA_SUCCESS);
}

TEST_CASE("tables that know nothing of work, or that the driver tests, are handed out as they are") {
  const Watching watching;
  const CUuuid untouched[] = {
      {{'\xa0', '\x94', 0x79, '\x8c', 0x2e, 0x74, 0x2e, 0x74, '\x93', '\xf2', 8, 0, 0x20, 0x0c, 0x0a, 0x66}},
      {{'\xc6', '\x93', 0x33, 0x6e, 0x11, 0x21, '\xdf', 0x11, '\xa8', '\xc3', 0x68, '\xf3', 0x55, '\xd8', '\x95',
        '\x93'}}};
  const void* ours = nullptr;
  const void* theirs = nullptr;
  for (const CUuuid& id : untouched) {
    CAPTURE(table_name(id));
    REQUIRE(::cuGetExportTable(&ours, &id) == CUDA_SUCCESS);
    REQUIRE(driver.cuGetExportTable(&theirs, &id) == CUDA_SUCCESS);
    CHECK(ours == theirs);
  }
  const CUuuid unknown{};
  CHECK(::cuGetExportTable(&ours, &unknown) == CUDA_ERROR_NOT_FOUND);
  CHECK(ours == nullptr);
}

TEST_CASE("stubs pass every kind of argument on") {
  const Watching watching;
  void* stub = real_library.address_for_program(address(&take_everything), nullptr, "take_everything");
  REQUIRE(stub != nullptr);
  auto* function = reinterpret_cast<decltype(&take_everything)>(stub);
  for (const bool watch : {false, true}) {
    real_library.stubs().set_watching(watch);
    std::memset(passed, 0, sizeof(passed));
    CHECK(function(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5, 11.5F, 12.5, 13.5, 14.5, 15.5, 16.5) == 42.5);
    CHECK(passed[0] == 1);
    CHECK(passed[7] == 8);
    CHECK(passed[8] == 9.5);
    CHECK(passed[10] == 11.5);
    CHECK(passed[15] == 16.5);
  }
  CHECK(seen == std::vector<std::string>{"take_everything"});
}

TEST_CASE("versions of a name") {
  CHECK(is_version_of("cuMemAlloc", "cuMemAlloc"));
  CHECK(is_version_of("cuMemAlloc_v2", "cuMemAlloc"));
  CHECK(is_version_of("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"));
  CHECK(is_version_of("cuStreamQuery_ptsz", "cuStreamQuery"));
  CHECK(is_version_of("cuMemAlloc_v2", "cuMemAlloc_v2"));
  CHECK_FALSE(is_version_of("cuMemAllocHost", "cuMemAlloc"));
  CHECK_FALSE(is_version_of("cuMemAlloc", "cuMemAlloc_v2"));
}

TEST_CASE("one address under several names") {
  const Watching watching;  // opens the layer, which knows its stubs from then on
  interpose::AddressMap map(real_library.stubs(), kApi, &is_version_of);
  const auto give = [&map](int* key, const char* wanted) { return map.map(key, wanted, "label"); };
  int shared = 0;
  map.add(&shared, index_of("cuCtxGetDevice"));    // neutral
  map.add(&shared, index_of("cuCtxSynchronize"));  // host
  CHECK(give(&shared, "cuCtxSynchronize") == real_library.stubs().address(index_of("cuCtxSynchronize")));
  CHECK(give(&shared, "cuCtxGetDevice") == &shared);
  // By another name, or none, nobody knows what it does.
  void* stub = give(&shared, "cuSomethingElse");
  CHECK(stub != &shared);
  CHECK(stub != real_library.stubs().address(index_of("cuCtxSynchronize")));
  CHECK(give(&shared, nullptr) == stub);
  // Two versions of one name: the safer class.
  int versions = 0;
  map.add(&versions, index_of("cuStreamIsCapturing"));
  map.add(&versions, index_of("cuStreamIsCapturing_ptsz"));
  CHECK(give(&versions, "cuStreamIsCapturing") == &versions);
  int alone = 0;
  map.add(&alone, index_of("cuCtxGetDevice"));
  CHECK(give(&alone, nullptr) == &alone);
}

TEST_CASE("the linker's cache is read with suspicion") {
  const auto number = [](std::string& text, std::uint32_t value) { text.append(reinterpret_cast<char*>(&value), 4); };
  const std::string strings("libcuda.so.1\0/a/libcuda.so.1\0", 29);
  std::string cache = "glibc-ld.so.cache1.1";
  number(cache, 1);
  number(cache, static_cast<std::uint32_t>(strings.size()));
  cache.append(20, '\0');
#if defined(__aarch64__)
  number(cache, 0x0a03);
#else
  number(cache, 0x0303);
#endif
  number(cache, 72);
  number(cache, 72 + 13);
  cache.append(12, '\0');
  cache += strings;
  CHECK(search_linker_cache(cache, kDriverFile) == std::vector<std::string>{"/a/libcuda.so.1"});
  CHECK(search_linker_cache("an older cache" + cache, kDriverFile).size() == 1);
  for (std::size_t length = 0; length < cache.size(); ++length) {
    CHECK(search_linker_cache(std::string_view(cache).substr(0, length), kDriverFile).empty());
  }
  for (std::size_t place = 20; place < 72; ++place) {
    std::string damaged = cache;
    damaged[place] = '\xff';
    search_linker_cache(damaged, kDriverFile);  // whatever it says, it says it
  }
}

TEST_CASE("exports are read from memory") {
  const Watching watching;
  void* library = dlopen(SIM_CUDA, RTLD_LAZY);
  REQUIRE(library != nullptr);
  const std::vector<ExportedFunction> functions = exported_functions(library);
  CHECK(functions.size() >= 673);
  for (const ExportedFunction& function : functions) {
    CHECK(dlsym(library, std::string(function.name).c_str()) == function.address);
  }
  dlclose(library);
}

TEST_CASE("verify compares nothing once kernels may write what cannot be put back", "[promise-4]") {
  backends::MemoryInventory inventory;
  const DriverFunctions before = driver;
  runtime.inventory = &inventory;
  driver.cuSurfObjectCreate = [](auto...) { return CUDA_ERROR_INVALID_VALUE; };
  CHECK(wrap::cuSurfObjectCreate(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(inventory.why_not() == nullptr);
  SECTION("arrays") {
    driver.cuSurfObjectCreate = [](auto...) { return CUDA_SUCCESS; };
    CHECK(wrap::cuSurfObjectCreate(nullptr, nullptr) == CUDA_SUCCESS);
  }
  SECTION("memory of graphs") {
    driver.cuGraphAddMemAllocNode = [](auto...) { return CUDA_SUCCESS; };
    CHECK(wrap::cuGraphAddMemAllocNode(nullptr, nullptr, nullptr, 0, nullptr) == CUDA_SUCCESS);
  }
  SECTION("memory of other processes") {
    driver.cuIpcOpenMemHandle_v2 = [](auto...) { return CUDA_SUCCESS; };
    CHECK(wrap::cuIpcOpenMemHandle_v2(nullptr, {}, 0) == CUDA_SUCCESS);
  }
  CHECK(inventory.why_not() != nullptr);
  runtime.inventory = nullptr;
  driver = before;
}

TEST_CASE("what a stub costs", "[.benchmark]") {
  const Watching watching;
  const auto host_stub_of = [](void* function) {
    constexpr std::uint32_t kLast = HostStubs::kCount - 1;  // nobody else gets that far
    HostStubs::set(kLast, function, "host");
    return HostStubs::address(kLast);
  };
  const auto time = [](auto* function) {
    constexpr int kCalls = 20'000'000;
    const char* text = nullptr;
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < kCalls; ++call) {
        function(CUDA_SUCCESS, &text);
      }
      const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
      best = std::min(best, spent.count() / kCalls);
    }
    return best;
  };
  using Function = CUresult(CUresult, const char**);
  auto* volatile real = reinterpret_cast<Function*>(real_library.function("cuGetErrorName"));
  auto* volatile neutral = reinterpret_cast<Function*>(real_library.stubs().address(index_of("cuGetErrorName")));
  auto* volatile host = reinterpret_cast<Function*>(host_stub_of(real_library.function("cuGetErrorName")));
  std::cout << "driver " << time(real) << " ns, neutral stub (watching) " << time(neutral) << " ns";
  real_library.stubs().set_watching(false);
  std::cout << ", host stub (not watching) " << time(host) << " ns\n";
}

}  // namespace refrain::layer::cuda
