// What Refrain asks of the C library it asks that itself, not whoever took the name.
//
// Programs may have functions of their own with names that are the C library's and not the language's (`shutdown`,
// `poll`, `socket`): the dynamic linker binds every library's calls to them, ours as well. And libraries that are
// preloaded fake clocks and waits with times, which is for the program, not for the hold limit.
//
// By the library's own relocations, once, before it calls anything: calls cost what they cost without. (The linker's
// --wrap would take a function of ours for each name, and a list in which none may be missing.)
#pragma once

extern "C" {

/// Binds the calls of the library that this is linked into to the C library's own functions, where they were bound to
/// somebody else's. Left are those in own_bindings.cpp's list, and what a sanitizer's run time or our exit hooks have
/// the name of. Changes nothing, and costs one walk over the loaded objects, where nobody took a name; where somebody
/// did, the library's table of addresses stays writable. May be called at any time and by several threads at once;
/// calls nothing that could have been taken but dl_iterate_phdr(). May change errno.
void refrain_own_bindings() noexcept;
}
