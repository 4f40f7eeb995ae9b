// Takes a name as a sanitizer's run time does, for own_bindings_test.cpp.

extern "C" {
[[gnu::visibility("default")]] void __sanitizer_print_stack_trace();  // NOLINT(readability-identifier-naming)
void __sanitizer_print_stack_trace() {}                               // NOLINT(readability-identifier-naming)
}

[[gnu::visibility("default")]] int own_accept4() __asm__("accept4");
int own_accept4() {
  return 8;
}
