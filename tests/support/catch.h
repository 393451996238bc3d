#pragma once

// Catch2 2 (Debian 12) and 3 (newer) under one include.
#if ATTN_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#define CONTAINS(text) Catch::Matchers::ContainsSubstring(text)
#else
#include <catch2/catch.hpp>
#define CONTAINS(text) Catch::Matchers::Contains(text)
#endif
