// See stubs.h. x86-64, System V calling convention. One exported function per line of the entry point lists,
// then the anonymous ones. The index of a stub is its place in refrain_cuda_stub_addresses.

#if !defined(__x86_64__)
#error "The CUDA layer has stubs for x86-64 only."
#endif

        .section .note.GNU-stack,"",@progbits

        .hidden refrain_cuda_watching
        .hidden refrain_cuda_host_call
        .hidden refrain_cuda_first_call
        .hidden refrain_cuda_targets
        .hidden refrain_cuda_stub_addresses
        .globl  refrain_cuda_targets
        .globl  refrain_cuda_stub_addresses

        .data
        .balign 8
        .type   refrain_cuda_targets, @object
refrain_cuda_targets:

        .section .data.rel.ro.local,"aw"
        .balign 8
        .type   refrain_cuda_stub_addresses, @object
refrain_cuda_stub_addresses:

        .text
        .set    index, 0

// The target of a stub is at first the piece of code behind it, which has the driver loaded.
        .macro  target_and_address
        .data
        .quad   2b
        .section .data.rel.ro.local,"aw"
        .quad   1b
        .text
        .set    index, index + 1
        .endm

        .macro  jump_body
        .balign 32
1:      endbr64
        jmp     *refrain_cuda_targets+8*index(%rip)
        .balign 8
2:      endbr64
        pushq   $index
        jmp     refrain_cuda_slow_first
        target_and_address
        .endm

        .macro  host_body
        .balign 32
1:      endbr64
        cmpl    $0, refrain_cuda_watching(%rip)
        jne     3f
        jmp     *refrain_cuda_targets+8*index(%rip)
3:      pushq   $index
        jmp     refrain_cuda_slow_host
2:      endbr64
        pushq   $index
        jmp     refrain_cuda_slow_first
        target_and_address
        .endm

        .macro  exported name
        .balign 32
        .globl  \name
        .type   \name, @function
\name:
        .endm

        .macro  jump_stub name
        exported \name
        .cfi_startproc
        jump_body
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro  host_stub name
        exported \name
        .cfi_startproc
        host_body
        .cfi_endproc
        .size   \name, . - \name
        .endm

#define SUBMIT(f) jump_stub f
#define TRACKED(f) jump_stub f
#define TYPED(f) jump_stub f
#define RESOLVE(f) jump_stub f
#define NEUTRAL(f) jump_stub f
#define HOST(f) host_stub f
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"

// Anonymous stubs: as many as kAnonymousStubs in stubs.h.
        .balign 32
        .cfi_startproc
        .rept   4096
        host_body
        .endr
        .cfi_endproc

        .data
        .size   refrain_cuda_targets, . - refrain_cuda_targets
        .section .data.rel.ro.local,"aw"
        .size   refrain_cuda_stub_addresses, . - refrain_cuda_stub_addresses
        .text

// On entry: the stub's index on top of the return address. Saves every register that can carry an
// argument (rax: the number of vector registers of a variadic call; r10: static chain), asks C++ where to
// go, and goes there as if nothing had happened.
        .macro  slow_path name, function
        .type   \name, @function
        .balign 32
\name:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $208, %rsp
        andq    $-16, %rsp
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movups  %xmm0, 64(%rsp)
        movups  %xmm1, 80(%rsp)
        movups  %xmm2, 96(%rsp)
        movups  %xmm3, 112(%rsp)
        movups  %xmm4, 128(%rsp)
        movups  %xmm5, 144(%rsp)
        movups  %xmm6, 160(%rsp)
        movups  %xmm7, 176(%rsp)
        movl    8(%rbp), %edi
        call    \function
        movq    %rax, %r11
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movups  64(%rsp), %xmm0
        movups  80(%rsp), %xmm1
        movups  96(%rsp), %xmm2
        movups  112(%rsp), %xmm3
        movups  128(%rsp), %xmm4
        movups  144(%rsp), %xmm5
        movups  160(%rsp), %xmm6
        movups  176(%rsp), %xmm7
        movq    %rbp, %rsp
        .cfi_def_cfa_register %rsp
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 16
        addq    $8, %rsp
        .cfi_def_cfa_offset 8
        jmp     *%r11
        .cfi_endproc
        .size   \name, . - \name
        .endm

        slow_path refrain_cuda_slow_host, refrain_cuda_host_call
        slow_path refrain_cuda_slow_first, refrain_cuda_first_call
