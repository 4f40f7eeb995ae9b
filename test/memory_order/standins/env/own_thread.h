#pragma once
namespace refrain::env {
class OwnThread {};
}  // namespace refrain::env
