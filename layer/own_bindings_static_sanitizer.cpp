// Takes names as a program does that a sanitizer's run time is linked into statically, for own_bindings_test.cpp.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define OWN(result, name, parameters)                                         \
  [[gnu::visibility("default")]] result own_##name parameters __asm__(#name); \
  result own_##name parameters

OWN(int, socketpair, ()) {
  return 9;
}

OWN(void, longjmp, ()) {
  abort();
}

OWN(int, pthread_create, (pthread_t * thread, const pthread_attr_t* how, void* (*run)(void*), void* with)) {
  return reinterpret_cast<decltype(&own_pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"))(thread, how, run, with);
}
