// The layer as the loader sees it, without a driver: tables of every length, null slots, stubs.

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

namespace {

/// A copy of the layer under a name of its own, so that each test has one that was never initialised.
class Layer {
 public:
  explicit Layer(const char* mode = "replay", Lmid_t space = LM_ID_BASE) {
    static int number = 0;
    setenv("REFRAIN_MODE", mode, 1);
    unsetenv("REFRAIN_DOCTOR_FD");
    path_ = std::filesystem::temp_directory_path() /
            ("refrain-interception-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".so");
    std::filesystem::copy_file(REFRAIN_LAYER_FILE, path_);
    library_ = dlmopen(space, path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      FAIL(dlerror());
    }
    get_info = reinterpret_cast<decltype(get_info)>(dlsym(library_, "clGetLayerInfo"));
    init = reinterpret_cast<decltype(init)>(dlsym(library_, "clInitLayer"));
    init_with_properties =
        reinterpret_cast<decltype(init_with_properties)>(dlsym(library_, "clInitLayerWithProperties"));
    deinit = reinterpret_cast<decltype(deinit)>(dlsym(library_, "clDeinitLayer"));
    REQUIRE(get_info != nullptr);
    REQUIRE(init != nullptr);
    REQUIRE(init_with_properties != nullptr);
    REQUIRE(deinit != nullptr);
  }
  ~Layer() { std::filesystem::remove(path_); }  // never closed, as loaders never do
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  pfn_clGetLayerInfo get_info = nullptr;
  pfn_clInitLayer init = nullptr;
  cl_int (*init_with_properties)(cl_uint, const cl_icd_dispatch*, cl_uint*, const cl_icd_dispatch**,
                                 const cl_ulong*) = nullptr;
  cl_int (*deinit)() = nullptr;
  void* library() const { return library_; }

 private:
  std::filesystem::path path_;
  void* library_ = nullptr;
};

using Table = std::array<void*, 300>;

/// What a stub passed on: integers in registers and on the stack, floating point, and the return value.
double seen[16];
double take_everything(long a, long b, long c, long d, long e, long f, long g, long h, double i, double j, float k,
                       double l, double m, double n, double o, double p) {
  const double values[16] = {double(a), double(b), double(c), double(d), double(e), double(f), double(g), double(h),
                             i,         j,         k,         l,         m,         n,         o,         p};
  std::memcpy(seen, values, sizeof(seen));
  return 42.5;
}

/// A table of `count` entries, each of them take_everything.
Table filled(std::size_t count) {
  Table table{};
  for (std::size_t i = 0; i < count; ++i) {
    table[i] = reinterpret_cast<void*>(&take_everything);
  }
  return table;
}

const cl_icd_dispatch* as_dispatch(const Table& table) {
  return reinterpret_cast<const cl_icd_dispatch*>(table.data());
}
void* entry(const cl_icd_dispatch* dispatch, std::size_t index) {
  return reinterpret_cast<void* const*>(dispatch)[index];
}

constexpr std::size_t kGetPlatformIDs = offsetof(cl_icd_dispatch, clGetPlatformIDs) / sizeof(void*);
constexpr std::size_t kSetKernelArg = offsetof(cl_icd_dispatch, clSetKernelArg) / sizeof(void*);
constexpr std::size_t kAcquireGL = offsetof(cl_icd_dispatch, clEnqueueAcquireGLObjects) / sizeof(void*);
constexpr std::size_t kKnown = sizeof(cl_icd_dispatch) / sizeof(void*);

}  // namespace

TEST_CASE("layer info, asked as loaders ask") {
  const Layer layer;
  cl_layer_api_version version = 0;
  CHECK(layer.get_info(CL_LAYER_API_VERSION, sizeof(version), &version, nullptr) == CL_SUCCESS);
  CHECK(version == 100);
  size_t size = 0;
  CHECK(layer.get_info(CL_LAYER_API_VERSION, 0, nullptr, &size) == CL_SUCCESS);
  CHECK(size == sizeof(version));
  CHECK(layer.get_info(CL_LAYER_API_VERSION, 1, &version, nullptr) == CL_INVALID_VALUE);
  CHECK(layer.get_info(CL_LAYER_NAME, 0, nullptr, &size) == CL_SUCCESS);
  std::string name(size, '?');
  CHECK(layer.get_info(CL_LAYER_NAME, name.size(), name.data(), nullptr) == CL_SUCCESS);
  CHECK(name.find("Refrain") == 0);
  CHECK(name.back() == '\0');
  CHECK(layer.get_info(0x9999, sizeof(version), &version, nullptr) == CL_INVALID_VALUE);
}

TEST_CASE("nothing but the four functions of a layer is visible") {
  const Layer layer;
  for (const char* name :
       {"clGetPlatformIDs", "clFinish", "clSetKernelArg", "refrain_stub_code", "clEnqueueNDRangeKernel"}) {
    void* found = dlsym(layer.library(), name);
    Dl_info info{};
    // dlsym() also looks into what the library depends on; there is no OpenCL among it.
    CHECK((found == nullptr ||
           (dladdr(found, &info) != 0 && std::string(info.dli_fname).find("refrain") == std::string::npos)));
  }
}

TEST_CASE("tables of every length", "[promise-2]") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{60}, kKnown - 1, kKnown, kKnown + 1, kKnown + 60}) {
    const Layer layer;
    const Table table = filled(count);
    cl_uint entries = 0;
    const cl_icd_dispatch* ours = nullptr;
    REQUIRE(layer.init(static_cast<cl_uint>(count), as_dispatch(table), &entries, &ours) == CL_SUCCESS);
    CHECK(entries == count);
    REQUIRE(ours != nullptr);
    REQUIRE(ours != as_dispatch(table));
    CHECK(entry(ours, kGetPlatformIDs) == table[kGetPlatformIDs]);  // neutral: the driver's own pointer
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(entry(ours, i) != nullptr);
    }
    if (count > kSetKernelArg) {
      CHECK(entry(ours, kSetKernelArg) != table[kSetKernelArg]);
    }
    if (count > kKnown) {
      CHECK(entry(ours, kKnown) != table[kKnown]);  // a function newer than Refrain: a host call
    }
  }
}

TEST_CASE("a table longer than any stub", "[promise-2]") {
  const Layer layer;
  const Table table = filled(300);
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  REQUIRE(layer.init(300, as_dispatch(table), &entries, &ours) == CL_SUCCESS);
  CHECK(entries == 256);
}

TEST_CASE("null slots stay null") {
  const Layer layer;
  Table table = filled(kKnown);
  table[kSetKernelArg] = nullptr;
  table[kAcquireGL] = nullptr;
  table[kGetPlatformIDs] = nullptr;
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  REQUIRE(layer.init(kKnown, as_dispatch(table), &entries, &ours) == CL_SUCCESS);
  CHECK(entry(ours, kSetKernelArg) == nullptr);
  CHECK(entry(ours, kAcquireGL) == nullptr);
  CHECK(entry(ours, kGetPlatformIDs) == nullptr);
}

TEST_CASE("a stub passes every argument on") {
  const Layer layer;
  const Table table = filled(kKnown + 1);
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  REQUIRE(layer.init(kKnown + 1, as_dispatch(table), &entries, &ours) == CL_SUCCESS);
  for (const std::size_t slot : {kAcquireGL, kKnown}) {
    std::memset(seen, 0, sizeof(seen));
    auto* function = reinterpret_cast<decltype(&take_everything)>(entry(ours, slot));
    CHECK(function(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5, 11.5F, 12.5, 13.5, 14.5, 15.5, 16.5) == 42.5);
    for (int i = 0; i < 8; ++i) {
      CHECK(seen[i] == i + 1);
      CHECK(seen[8 + i] == i + 9.5);
    }
  }
}

TEST_CASE("both ways to initialise, twice, and with nonsense") {
  const Layer layer;
  const Table table = filled(kKnown);
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  CHECK(layer.init(kKnown, nullptr, &entries, &ours) == CL_INVALID_VALUE);
  CHECK(layer.init(kKnown, as_dispatch(table), nullptr, &ours) == CL_INVALID_VALUE);
  CHECK(layer.init(kKnown, as_dispatch(table), &entries, nullptr) == CL_INVALID_VALUE);
  CHECK(layer.init(0, as_dispatch(table), &entries, &ours) == CL_INVALID_VALUE);
  const cl_ulong unknown[] = {0x4711, 1, 0};
  CHECK(layer.init_with_properties(kKnown, as_dispatch(table), &entries, &ours, unknown) == CL_INVALID_PROPERTY);
  const cl_ulong none[] = {0};
  REQUIRE(layer.init_with_properties(kKnown, as_dispatch(table), &entries, &ours, none) == CL_SUCCESS);
  const cl_icd_dispatch* first = ours;
  CHECK(layer.init_with_properties(kKnown, as_dispatch(table), &entries, &ours, nullptr) == CL_SUCCESS);
  CHECK(ours == first);
  // Another loader in the same process is left alone.
  const Table other = filled(kKnown);
  CHECK(layer.init(kKnown, as_dispatch(other), &entries, &ours) == CL_SUCCESS);
  CHECK(ours == as_dispatch(other));
  CHECK(layer.deinit() == CL_SUCCESS);
  CHECK(layer.deinit() == CL_SUCCESS);
}

TEST_CASE("switched off, it is not there", "[promise-7]") {
  const Layer layer("off");
  const Table table = filled(kKnown);
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  REQUIRE(layer.init(kKnown, as_dispatch(table), &entries, &ours) == CL_SUCCESS);
  CHECK(entries == kKnown);
  CHECK(ours == as_dispatch(table));
}

TEST_CASE("beside a second C library it is not there", "[promise-7]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("a sanitizer's library works in the first namespace only");
#else
  const Layer layer("replay", LM_ID_NEWLM);
  const Table table = filled(kKnown);
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  REQUIRE(layer.init(kKnown, as_dispatch(table), &entries, &ours) == CL_SUCCESS);
  CHECK(entries == kKnown);
  CHECK(ours == as_dispatch(table));
#endif
}

TEST_CASE("it tells refrain doctor that it is in") {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const Layer layer;
  setenv("REFRAIN_DOCTOR_FD", std::to_string(pipe_ends[1]).c_str(), 1);
  const Table table = filled(100);
  cl_uint entries = 0;
  const cl_icd_dispatch* ours = nullptr;
  REQUIRE(layer.init(100, as_dispatch(table), &entries, &ours) == CL_SUCCESS);
  close(pipe_ends[1]);
  char text[200] = {};
  REQUIRE(read(pipe_ends[0], text, sizeof(text) - 1) > 0);
  close(pipe_ends[0]);
  unsetenv("REFRAIN_DOCTOR_FD");
  CHECK(std::string(text).find("refrain layer active ") == 0);
  CHECK(std::string(text).find(" opencl entries=100 target=100\n") != std::string::npos);
}
