#include "test/cuda/program.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace program {

namespace {
std::vector<std::pair<std::string, Function>>& registered() {
  static std::vector<std::pair<std::string, Function>> programs;
  return programs;
}
}  // namespace

Registration::Registration(const char* name, Function function) {
  registered().emplace_back(name, function);
}
const std::vector<std::pair<std::string, Function>>& all() {
  return registered();
}

Device::Device() {
  CHECK_CU(cuInit(0));
  CHECK_CU(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CU(cuCtxSetCurrent(context));
  CHECK_CU(cuModuleLoadData(&module, "kernels"));
}
Device::~Device() {
  CHECK_CU(cuCtxSynchronize());
  CHECK_CU(cuModuleUnload(module));
  CHECK_CU(cuDevicePrimaryCtxRelease(0));
}
CUfunction Device::function(const char* name) const {
  CUfunction result = nullptr;
  CHECK_CU(cuModuleGetFunction(&result, module, name));
  return result;
}

CUstream make_stream(unsigned flags) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, flags));
  return stream;
}
CUevent make_event(unsigned flags) {
  CUevent event = nullptr;
  CHECK_CU(cuEventCreate(&event, flags));
  return event;
}
CUdeviceptr allocate(std::size_t words) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, words * sizeof(Word)));
  return address;
}
CUdeviceptr filled(std::size_t words, Word seed) {
  std::vector<Word> values(words);
  for (Word& value : values) {
    value = seed++;
  }
  const CUdeviceptr address = allocate(words);
  CHECK_CU(cuMemcpyHtoD(address, values.data(), words * sizeof(Word)));
  CHECK_CU(cuCtxSynchronize());  // the default stream's copy; other streams need not wait for it
  return address;
}
Word* pinned(std::size_t words) {
  void* memory = nullptr;
  CHECK_CU(cuMemHostAlloc(&memory, words * sizeof(Word), 0));
  std::memset(memory, 0, words * sizeof(Word));
  return static_cast<Word*>(memory);
}

std::vector<Word> read(CUdeviceptr from, std::size_t words) {
  std::vector<Word> values(words);
  CHECK_CU(cuCtxSynchronize());
  CHECK_CU(cuMemcpyDtoH(values.data(), from, words * sizeof(Word)));
  return values;
}
void print(const char* name, const std::vector<Word>& values) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const Word value : values) {
    hash = (hash ^ value) * 0x100000001B3ULL;
  }
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}
void print(const char* name, CUdeviceptr from, std::size_t words) {
  print(name, read(from, words));
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pause_briefly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace program

int main(int argc, char** argv) {
  for (const auto& [name, function] : program::all()) {
    if (argc > 1 && name == argv[1]) {
      const int result = function(argc - 1, argv + 1);
      std::printf("end %d\n", result);
      return result;
    }
  }
  std::fprintf(stderr, "usage: %s PROGRAM [ARGUMENTS]; programs:", argv[0]);
  for (const auto& [name, function] : program::all()) {
    std::fprintf(stderr, " %s", name.c_str());
  }
  std::fprintf(stderr, "\n");
  return 2;
}
