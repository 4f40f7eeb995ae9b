// The kernels that every API's device has under these names; words are 32 bits, arithmetic wraps.
//
//   scale(x, n, a, b)     x[i] = x[i] * a + b            for i < n
//   mix_in(x, y, n, a)    x[i] = x[i] * 31 + y[i] + a    for i < n; y may be x
//   odd(a, x, b, c)       x[i] = x[i] * 3 + a + 7 * b + c % 1000003    for i < threads; parameters of 1, 8, 2, 8 bytes
//   wide(values, x)       x[i] = x[i] * 5 + values[i]    for i < 64; a parameter of 256 bytes, by value
//   store(x, value)       x[0] = value
//   busy(x, us)           takes about so long, then x[0] = x[0] * 3 + 1
//
// Those of gates, where a queue opens them:
//
//   await(opened, closed)   counts closed[0], then waits until opened[0] has come to that number
//   bump(opened)            counts opened[0]
//
// And, where the device has it, one that sees what the program has set:
//
//   seen(x)                 mixes it into x[i] for i < threads
#pragma once

#include "test/portable/device.h"

namespace portable {

struct Wide {
  Word values[64];
};

inline void scale(Device& device, Queue* queue, Kernel* kernel, Memory* x, Word count, Word a, Word b,
                  const Order& order = {}) {
  launch(device, queue, kernel, 64, order, x, count, a, b);
}
inline void mix_in(Device& device, Queue* queue, Kernel* kernel, Memory* x, Memory* y, Word count, Word a,
                   const Order& order = {}) {
  launch(device, queue, kernel, 64, order, x, y, count, a);
}

}  // namespace portable
