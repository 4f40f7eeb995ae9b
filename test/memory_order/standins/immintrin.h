#pragma once
#define _mm_pause() static_cast<void>(0)
