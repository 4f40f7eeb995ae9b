// A program that works on the device in a loop; with the word "looks" it now and then looks at mapped memory instead of
// waiting for the device. Exit code 5 after its work, 1 if it looked in vain. Knows nothing of Refrain.
#include <time.h>

#include <cstdio>
#include <string>

#include "test/portable/device.h"
#include "test/portable/kernels.h"

namespace {

using namespace portable;

/// Until the device has written `wanted`; for 4 s at most, by no clock.
bool appears(const volatile Word* word, Word wanted) {
  const timespec pause{0, 100'000};
  for (int waited = 0; *word != wanted; ++waited) {
    if (waited == 40'000) {
      return false;
    }
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

int work(bool looks) {
  const std::unique_ptr<Device> device = make_device();
  Queue* const queue = device->make_queue(QueueKind::kInOrder);
  Memory* const memory = device->allocate(Place::kPinned, 64 * sizeof(Word));
  Kernel* const kernel = device->find_kernel("scale");
  const Word none[64] = {};
  device->write(queue, {memory, 0}, none, sizeof(none));
  device->synchronize(queue);
  const auto* const word = reinterpret_cast<const volatile Word*>(device->host(memory));
  for (Word round = 0; round < 400; ++round) {
    for (Word launch = 1; launch <= 8; ++launch) {
      scale(*device, queue, kernel, memory, 64, 1, 1);
      if (looks && round % 20 == 19 && launch == 4 && !appears(word, 8 * round + launch)) {
        std::printf("stuck in round %u\n", round);
        return 1;
      }
    }
    device->synchronize(queue);
  }
  std::printf("result %u\n", *word);
  return 5;
}

}  // namespace

int main(int count, char** words) {
  return work(count > 1 && std::string(words[1]) == "looks");
}
