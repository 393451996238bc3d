#pragma once

// The precompiled header of all test programs: one include for Catch2 2 (Debian 12) and 3 (newer), and the standard
// headers that most tests use.
#if ATTN_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
using CatchListener = Catch::EventListenerBase;
#define CONTAINS(text) Catch::Matchers::ContainsSubstring(text)
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES // for listeners
#include <catch2/catch.hpp>
using CatchListener = Catch::TestEventListenerBase;
#define CONTAINS(text) Catch::Matchers::Contains(text)
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Like INFO, but lasts as long as the object.
struct ScopedInfo : Catch::ScopedMessage {
    explicit ScopedInfo(const std::string& text)
        : Catch::ScopedMessage(Catch::MessageBuilder("INFO"_catch_sr, CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info)
                               << text) {}
};
