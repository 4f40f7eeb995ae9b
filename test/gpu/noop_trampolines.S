// One exported function per name of the driver: a jump to where noop_launches.cpp says.
        .text
#define ENTRY(index, name) .globl name; .type name, @function; .balign 16; name: jmp *noop_targets + 8 * index(%rip);
#include "noop_names.inc"
        .section .note.GNU-stack, "", @progbits
