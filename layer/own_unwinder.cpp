// What unwinds the stack when one of our libraries throws, and when a thread that is cancelled passes through it.
//
// The C library unwinds a thread that is cancelled with libgcc_s.so.1, which it opens for that. What our functions call
// then has to be of the same libgcc: another copy, perhaps of another version, was not set up for it. But nothing of
// ours may need a library that might not be there. So we bring a copy, and all calls go to the process's where it has
// one. (The linker turns calls of _Unwind_x into calls of __wrap__Unwind_x: layer/starter/starter.cmake.)
#include "layer/own_unwinder.h"

#include <dlfcn.h>
#include <unwind.h>

#include "layer/elf_symbols.h"

// The names are libgcc's and the linker's. NOLINTBEGIN(readability-identifier-naming)

// What the C++ library and compiled code call: result, name, parameters, arguments.
#define REFRAIN_UNWINDER(FUNCTION)                                                                                     \
  FUNCTION(_Unwind_Reason_Code, _Unwind_RaiseException, (_Unwind_Exception * thrown), (thrown))                        \
  FUNCTION(_Unwind_Reason_Code, _Unwind_Resume_or_Rethrow, (_Unwind_Exception * thrown), (thrown))                     \
  FUNCTION(void, _Unwind_DeleteException, (_Unwind_Exception * thrown), (thrown))                                      \
  FUNCTION(_Unwind_Word, _Unwind_GetGR, (_Unwind_Context * context, int number), (context, number))                    \
  FUNCTION(void, _Unwind_SetGR, (_Unwind_Context * context, int number, _Unwind_Word value), (context, number, value)) \
  FUNCTION(_Unwind_Ptr, _Unwind_GetIP, (_Unwind_Context * context), (context))                                         \
  FUNCTION(_Unwind_Ptr, _Unwind_GetIPInfo, (_Unwind_Context * context, int* before), (context, before))                \
  FUNCTION(void, _Unwind_SetIP, (_Unwind_Context * context, _Unwind_Ptr value), (context, value))                      \
  FUNCTION(_Unwind_Word, _Unwind_GetCFA, (_Unwind_Context * context), (context))                                       \
  FUNCTION(void*, _Unwind_GetLanguageSpecificData, (_Unwind_Context * context), (context))                             \
  FUNCTION(_Unwind_Ptr, _Unwind_GetRegionStart, (_Unwind_Context * context), (context))                                \
  FUNCTION(_Unwind_Ptr, _Unwind_GetDataRelBase, (_Unwind_Context * context), (context))                                \
  FUNCTION(_Unwind_Ptr, _Unwind_GetTextRelBase, (_Unwind_Context * context), (context))

extern "C" {
#define REFRAIN_DECLARE(result, name, parameters, arguments) result __real_##name parameters;
REFRAIN_UNWINDER(REFRAIN_DECLARE)
[[noreturn]] void __real__Unwind_Resume(_Unwind_Exception* thrown);
}

namespace refrain::layer {
namespace {

struct Unwinder {
#define REFRAIN_MEMBER(result, name, parameters, arguments) result(*name) parameters = &__real_##name;
  REFRAIN_UNWINDER(REFRAIN_MEMBER)
  void (*_Unwind_Resume)(_Unwind_Exception* thrown) = &__real__Unwind_Resume;
  bool shared = false;
};
constinit Unwinder unwinder;

template <class Function>
bool find(const DynamicSymbols& symbols, const char* name, Function* function) noexcept {
  *function = reinterpret_cast<Function>(symbols.find(name));
  return *function != nullptr;
}

/// When the library is loaded, which is when libgcc_s.so.1 was loaded if it had named that. All functions, or none.
[[gnu::constructor]] void choose() noexcept {
  void* const library = ::dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    static_cast<void>(::dlerror());  // the next one is to be the program's own
    return;
  }
  const DynamicSymbols symbols(library);
  Unwinder found;
  found.shared = find(symbols, "_Unwind_Resume", &found._Unwind_Resume);
#define REFRAIN_FIND(result, name, parameters, arguments) \
  found.shared = find(symbols, #name, &found.name) && found.shared;
  REFRAIN_UNWINDER(REFRAIN_FIND)
  if (found.shared) {
    unwinder = found;
  }
}

}  // namespace

bool has_shared_unwinder() noexcept {
  return unwinder.shared;
}

}  // namespace refrain::layer

extern "C" {
#define REFRAIN_DEFINE(result, name, parameters, arguments) \
  result __wrap_##name parameters;                          \
  result __wrap_##name parameters {                         \
    return refrain::layer::unwinder.name arguments;         \
  }
REFRAIN_UNWINDER(REFRAIN_DEFINE)
[[noreturn]] void __wrap__Unwind_Resume(_Unwind_Exception* thrown);
void __wrap__Unwind_Resume(_Unwind_Exception* thrown) {
  refrain::layer::unwinder._Unwind_Resume(thrown);
  __builtin_unreachable();
}
}

// NOLINTEND(readability-identifier-naming)
