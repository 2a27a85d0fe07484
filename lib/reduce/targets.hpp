// Which SIMD targets Highway generates for this layer. Included before any Highway header, so that all files agree.
// Left out: SSSE3 (machines with it but without SSE4 and AVX2 are gone) and those whose vectors have no size at compile time.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
