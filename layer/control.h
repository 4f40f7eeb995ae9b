// How a running process is told to stop, to go on, to report: by the program itself (layer/refrain.h), and by its user
// (`refrain ctl`). The same for every API; each layer has its own.
#pragma once

#include "env/region.h"
#include "replay/engine.h"

namespace refrain::layer {

/// From now on `engine`, which lives as long as the process, can be told. `api`: "cuda", part of the socket's name.
/// `flush`: what the API's calls do that nobody classified. By its user only behind open_control_socket(). Do their
/// best: nothing fails.
void open_control(replay::Engine& engine, const char* api, void (*flush)(const replay::EntryPoint&) noexcept) noexcept;
void open_control_socket() noexcept;
/// When the engine has ended.
void close_control() noexcept;
/// After fork() in the child, where nothing is told.
void forget_control_in_child() noexcept;

/// See replay::LayerHooks.
[[nodiscard]] const env::Region* region_now() noexcept;

}  // namespace refrain::layer
