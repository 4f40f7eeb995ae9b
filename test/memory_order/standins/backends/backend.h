#pragma once
namespace refrain::backends {
struct Capabilities {};
}  // namespace refrain::backends
