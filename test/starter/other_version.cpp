// A layer that does not know its starter.
extern "C" __attribute__((visibility("default"))) void* refrain_layer_open(const void* /*starter*/) noexcept {
  return nullptr;
}
