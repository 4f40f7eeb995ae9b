# Builds for aarch64 on Debian or Ubuntu for x86-64, and runs what it built there under qemu-user. Needs g++-aarch64-linux-gnu
# and the libraries' development packages of architecture arm64 (which bring its C library). Tests that start programs need
# qemu-user-static, entered in binfmt_misc.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
# No CUDA compiler for this machine's programs makes programs for the other one.
set(CMAKE_CUDA_COMPILER NOTFOUND)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
