// A code object inside a program.
        .section .note.GNU-stack,"",@progbits
        .section .rodata
        .balign 4096
        .globl  contract_image
        .globl  contract_bundle
contract_image:
        .incbin CONTRACT_IMAGE
        .balign 4096
contract_bundle:
        .incbin CONTRACT_BUNDLE
        .byte   0
        .balign 4096
        .globl  contract_other
contract_other:
        .incbin CONTRACT_OTHER
        .balign 4096
        .globl  contract_compressed
contract_compressed:
        .incbin CONTRACT_COMPRESSED
        .byte   0
        .balign 4096
        .globl  contract_variable
contract_variable:
        .incbin CONTRACT_VARIABLE
        .balign 4096
        .globl  contract_unnamed
contract_unnamed:
        .incbin CONTRACT_UNNAMED
        .balign 4096
        .globl  contract_heap
contract_heap:
        .incbin CONTRACT_HEAP
