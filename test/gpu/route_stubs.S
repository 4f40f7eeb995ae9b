// One exported function per name of the driver, and as many without a name as routes.cpp may need for functions that are
// found by cuGetProcAddress: each a jump to where routes.cpp says.
#include "driver_names.h"
        .text
#define ENTRY(index, name) .globl name; .type name, @function; .balign 16; name: jmp *route_targets + 8 * index(%rip);
#include "driver_names.inc"
#undef ENTRY
        .balign 16
        .globl route_stubs
        .hidden route_stubs
        .type route_stubs, @function
route_stubs:
        .set slot, 0
        .rept ROUTE_SLOTS
        .balign 16
        jmp *route_targets + 8 * (ROUTE_NAMES + slot)(%rip)
        .set slot, slot + 1
        .endr
        .section .note.GNU-stack, "", @progbits
