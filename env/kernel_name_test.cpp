#include "env/kernel_name.h"

#include <catch2/catch.hpp>
#include <utility>

using refrain::env::short_name;

TEST_CASE("kernels are called by their own names") {
  const std::pair<const char*, const char*> names[] = {
      {"heat", "heat"},
      {"_Z5scalePfi", "scale"},
      {"_ZN3sim5scaleEPfi", "scale"},
      {"_ZN12_GLOBAL__N_15scaleEPfi", "scale"},
      {"_Z3runIfEvPT_", "run<float>"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
       "vectorized_elementwise_kernel<CUDAFunctor_add>"},
      {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, "
       "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
       "elementwise_kernel<MulFunctor>"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, 10>(float*)", "softmax_warp_forward"},
      {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>(Params)",
       "Kernel2<cutlass_80_tensorop_s1688gemm_128x128>"},
      {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
      // What is not understood stays.
      {"", ""},
      {"(", "("},
      {"a<b", "a<b"},
  };
  for (const auto& [name, expected] : names) {
    CHECK(short_name(name) == expected);
  }
}
