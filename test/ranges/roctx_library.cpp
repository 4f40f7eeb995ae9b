// Stands for AMD's library: returns depths as it does, from 0 on.
namespace {
int depth = 0;
}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): AMD's
__attribute__((visibility("default"))) int roctxRangePushA(const char* /*name*/) {
  return depth++;
}
__attribute__((visibility("default"))) int roctxRangePop() {
  return --depth;
}
// NOLINTEND(readability-identifier-naming)
}
