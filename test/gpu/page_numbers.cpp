// The kernel with which verify mode compares memory, against what its numbers are said to be: pieces of many sizes and
// places, and copies of them. Then how fast it reads (elapsed, so that the output stays comparable).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/page_hash.h"
#include "backends/cuda/system_driver.h"

namespace {

using namespace refrain::backends;
using Number = std::uint64_t;

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "page_numbers: %s failed: %d\n", call, static_cast<int>(status));
  std::exit(1);
}
#define CHECK_DRIVER(call) check((call), #call)

Number mix(Number value, Number place) {
  Number x = value ^ (place * 0x9e3779b97f4a7c15U);
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 29U;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 32U);
}

/// Of a page, as page_hash.cpp describes it.
Number expected(const unsigned char* page, Number address, Number to, Number bytes) {
  Number sum = 0;
  const Number words = (address | to) % 16 == 0 ? bytes / 16 * 2 : 0;
  for (Number i = 0; i < words; ++i) {
    Number word = 0;
    std::memcpy(&word, page + i * sizeof(word), sizeof(word));
    sum += mix(word, i);
  }
  for (Number i = words * sizeof(Number); i < bytes; ++i) {
    sum += mix(page[i], i + (Number{1} << 32U));
  }
  return sum;
}

struct Memory {
  const CudaDriver& driver;
  CUdeviceptr address = 0;
  Memory(const CudaDriver& its_driver, std::size_t bytes) : driver(its_driver) {
    CHECK_DRIVER(driver.cuMemAlloc_v2(&address, bytes));
  }
  ~Memory() { static_cast<void>(driver.cuMemFree_v2(address)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

struct Device {
  const CudaDriver& driver;
  CudaPageHash kernel;

  void put(CUdeviceptr to, const void* from, std::size_t bytes) const {
    CHECK_DRIVER(driver.cuMemcpyAsync(to, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr));
    CHECK_DRIVER(driver.cuStreamSynchronize(nullptr));
  }
  void get(void* to, CUdeviceptr from, std::size_t bytes) const {
    put(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<const void*>(from), bytes);
  }
  void run(const std::vector<MemoryPiece>& pieces, Number pages, CUdeviceptr numbers) const {
    const Memory table(driver, pieces.size() * sizeof(MemoryPiece));
    put(table.address, pieces.data(), pieces.size() * sizeof(MemoryPiece));
    CHECK_DRIVER(kernel.run(driver, table.address, pieces.size(), pages, numbers, nullptr));
    CHECK_DRIVER(driver.cuStreamSynchronize(nullptr));
  }
};

/// Wrong pages and bytes.
int numbers_are_right(const Device& device, bool copied) {
  constexpr Number kSizes[] = {1, 7, 8, 15, 16, 17, 4096, 16384, 65535, 65536, 65537, 131072, 200000, (1U << 20U) + 3};
  constexpr Number kRoom = 2U << 20U;
  std::vector<MemoryPiece> pieces;
  std::vector<unsigned char> contents(std::size_t{kRoom} * std::size(kSizes) * 3);
  std::mt19937_64 random(7);
  for (unsigned char& byte : contents) {
    byte = static_cast<unsigned char>(random());
  }
  const Memory memory(device.driver, contents.size());
  const Memory copy(device.driver, contents.size());
  device.put(memory.address, contents.data(), contents.size());
  std::vector<unsigned char> copies(contents.size(), 0xcd);
  device.put(copy.address, copies.data(), copies.size());
  Number pages = 0;
  Number place = 0;
  for (const Number bytes : kSizes) {
    for (const Number offset : {0, 8, 5}) {
      pieces.push_back({memory.address + place + offset, copied ? copy.address + place + offset : 0, bytes, pages});
      pages += pieces.back().pages();
      place += kRoom;
    }
  }
  std::vector<Number> numbers(pages, 0);
  const Memory on_device(device.driver, pages * sizeof(Number));
  device.put(on_device.address, numbers.data(), pages * sizeof(Number));
  device.run(pieces, pages, on_device.address);
  device.get(numbers.data(), on_device.address, pages * sizeof(Number));
  device.get(copies.data(), copy.address, copies.size());

  int wrong = 0;
  std::vector<unsigned char> expected_copies(contents.size(), 0xcd);
  for (const MemoryPiece& piece : pieces) {
    const Number start = piece.from - memory.address;
    if (copied) {
      std::memcpy(&expected_copies[start], &contents[start], piece.bytes);
    }
    for (Number page = 0; page < piece.pages(); ++page) {
      const Number at = page * AddressedMemory::kPage;
      const Number bytes = std::min<Number>(AddressedMemory::kPage, piece.bytes - at);
      wrong += numbers[piece.first_page + page] == expected(&contents[start + at], piece.from, piece.to, bytes) ? 0 : 1;
    }
  }
  return wrong + (copies == expected_copies ? 0 : 1);
}

/// GB that are read in a second, the best of five runs.
double speed(const Device& device, Number bytes, bool copied) {
  const Memory memory(device.driver, bytes);
  const Memory copy(device.driver, copied ? bytes : 16);
  const std::vector<MemoryPiece> pieces = {{memory.address, copied ? copy.address : 0, bytes, 0}};
  const Number pages = pieces[0].pages();
  const Memory numbers(device.driver, pages * sizeof(Number));
  const Memory table(device.driver, sizeof(MemoryPiece));
  device.put(table.address, pieces.data(), sizeof(MemoryPiece));
  CHECK_DRIVER(device.driver.cuMemsetD8Async(memory.address, 1, bytes, nullptr));
  CHECK_DRIVER(device.driver.cuStreamSynchronize(nullptr));
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK_DRIVER(device.kernel.run(device.driver, table.address, 1, pages, copied ? 0 : numbers.address, nullptr));
    CHECK_DRIVER(device.driver.cuStreamSynchronize(nullptr));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return static_cast<double>(bytes) / 1e9 / best;
}

}  // namespace

int main(int argc, char** argv) {
  std::string why;
  const CudaDriver* driver = refrain::backends::cuda::system_driver(&why);
  if (driver == nullptr) {
    std::fprintf(stderr, "page_numbers: %s\n", why.c_str());
    return 1;
  }
  CHECK_DRIVER(driver->cuInit(0));
  CUcontext context = nullptr;
  CHECK_DRIVER(driver->cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_DRIVER(driver->cuCtxSetCurrent(context));
  Device device{*driver, {}};
  CHECK_DRIVER(device.kernel.load(*driver));
  int wrong = 0;
  for (const bool copied : {false, true}) {
    const int here = numbers_are_right(device, copied);
    std::printf("%s: %d wrong\n", copied ? "numbers and copies" : "numbers", here);
    wrong += here;
  }
  const Number bytes = Number{1} << (argc > 1 ? std::stoul(argv[1]) : 20);
  std::printf("elapsed-numbers-gb-per-s %.0f\n", speed(device, bytes, false));
  std::printf("elapsed-copies-gb-per-s %.0f\n", speed(device, bytes, true));
  return wrong == 0 ? 0 : 1;
}
