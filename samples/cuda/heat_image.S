// The compiled kernels of heat_driver as data of the program; HEAT_IMAGE is the file that nvcc wrote.
        .section .rodata
        .global heat_image
        .balign 64
heat_image:
        .incbin HEAT_IMAGE
        .section .note.GNU-stack, "", @progbits
