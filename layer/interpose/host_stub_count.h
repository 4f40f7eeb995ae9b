// How many stubs host_stubs.S has; also for the assembler.
#pragma once

#define REFRAIN_HOST_STUBS 4096
