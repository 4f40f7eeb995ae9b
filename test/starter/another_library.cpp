// No layer at all.
extern "C" __attribute__((visibility("default"))) void nothing_of_use() noexcept {}
