// Names of kernels as people call them.
#pragma once

#include <string>
#include <string_view>

namespace refrain::env {

/// The function's own name: of a C++ name, mangled or not, without namespaces, parameters and what it returns. Of its
/// template arguments only what tells it from others is left: the innermost functor, or the first one where the name is
/// short. "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(int, …)" is
/// "vectorized_elementwise_kernel<CUDAFunctor_add>". May throw std::bad_alloc.
std::string short_name(std::string_view name);

}  // namespace refrain::env
