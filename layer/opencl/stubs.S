// See stubs.h. x86-64, System V calling convention. Stub i is 32 bytes at refrain_stubs + 32 * i.

#if !defined(__x86_64__)
#error "The OpenCL layer has stubs for x86-64 only."
#endif

        .section .note.GNU-stack,"",@progbits
        .text

        .hidden refrain_stub_watching
        .hidden refrain_stub_targets
        .hidden refrain_stub_host_call
        .hidden refrain_stubs
        .globl  refrain_stubs
        .type   refrain_stubs, @function
        .balign 32
refrain_stubs:
        .cfi_startproc
        .set    index, 0
        .rept   1280
        .balign 32
        endbr64
        cmpl    $0, refrain_stub_watching(%rip)
        jne     1f
        jmp     *refrain_stub_targets+8*index(%rip)
1:      pushq   $index
        jmp     refrain_stub_slow
        .set    index, index + 1
        .endr
        .cfi_endproc
        .size   refrain_stubs, . - refrain_stubs

// On entry: the stub's index on top of the return address. Saves every register that can carry an
// argument (rax: the number of vector registers of a variadic call; r10: static chain), asks C++ to
// flush, and goes on as if nothing had happened.
        .type   refrain_stub_slow, @function
        .balign 32
refrain_stub_slow:
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
        call    refrain_stub_host_call
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
        .size   refrain_stub_slow, . - refrain_stub_slow
