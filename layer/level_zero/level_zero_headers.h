// The vendor's headers, and what is newer than Debian's (API version 1.4).
#pragma once

#include "backends/level_zero/level_zero_headers.h"
