#include "replay/profile/profile.h"
#include <catch2/catch.hpp>
