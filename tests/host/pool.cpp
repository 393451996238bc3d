#include "engine/host/pool.h"

#include "tests/support/catch.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

using namespace attn::host;

namespace {

/// How often each index was visited.
std::vector<int> visits(Pool& pool, int64_t count) {
    std::vector<std::atomic<int>> counts(static_cast<size_t>(count));
    pool.run(count, [&](int64_t i) { ++counts[static_cast<size_t>(i)]; });
    return {counts.begin(), counts.end()};
}

} // namespace

TEST_CASE("pool: each task runs once, for none, one and many tasks", "[host]") {
    for (const int threads : {1, 2, 4, 9}) {
        Pool pool(threads);
        CHECK(pool.threads() == threads);
        for (const int64_t count : {0, 1, 2, 7, 1000}) {
            INFO(threads << " threads, " << count << " tasks");
            CHECK(visits(pool, count) == std::vector<int>(static_cast<size_t>(count), 1));
        }
    }
}

TEST_CASE("pool: more tasks than a ticket can number run once each", "[host]") {
    Pool pool(3);
    const int64_t count = (int64_t{1} << 21) + 5;
    const std::vector<int> all = visits(pool, count);
    CHECK(std::ranges::all_of(all, [](int times) { return times == 1; }));
}

TEST_CASE("pool: shares cover each index once, in multiples", "[host]") {
    for (const int threads : {1, 2, 3, 8}) {
        Pool pool(threads);
        for (const int64_t count : {0, 1, 31, 32, 100, 768, 5001})
            for (const int64_t least : {1, 64, 4000}) {
                INFO(threads << " threads, " << count << " indices, at least " << least);
                std::vector<std::atomic<int>> counts(static_cast<size_t>(count));
                std::atomic<bool> isMultiple = true;
                pool.shares(count, least, 16, [&](int64_t begin, int64_t end) {
                    if (begin % 16 != 0 || (end % 16 != 0 && end != count)) isMultiple = false;
                    for (int64_t i = begin; i < end; ++i) ++counts[static_cast<size_t>(i)];
                });
                CHECK(std::ranges::all_of(counts, [](const std::atomic<int>& times) { return times == 1; }));
                CHECK(isMultiple);
            }
    }
}

TEST_CASE("pool: memory that is expected changes no result", "[host]") {
    Pool pool(3);
    const std::vector<std::byte> memory(1 << 20);
    const std::vector<std::span<const std::byte>> pieces(6, std::span(memory).first(memory.size() / 2));
    for (size_t round = 0; round < 200; ++round) {
        pool.expect(std::span(pieces).first(round % (pieces.size() + 1)));
        CHECK(visits(pool, 40) == std::vector<int>(40, 1));
    }
}

TEST_CASE("pool: tasks may run tasks, of the same pool and of another", "[host]") {
    Pool pool(4), other(3);
    std::atomic<int64_t> sum = 0;
    pool.run(20, [&](int64_t i) {
        pool.run(10, [&](int64_t j) { sum += i * j; });
        other.run(2, [&](int64_t j) { sum += j; });
    });
    CHECK(sum == 190 * 45 + 20);
}

TEST_CASE("pool: callers of several threads all get their results", "[host]") {
    Pool pool(4);
    constexpr int kCallers = 6, kRounds = 300;
    std::vector<int64_t> sums(kCallers, 0);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < kRounds; ++round) {
                std::vector<int64_t> results(static_cast<size_t>(caller + 2), 0);
                pool.run(caller + 2, [&](int64_t i) { results[static_cast<size_t>(i)] = i + 1; });
                for (const int64_t result : results) sums[static_cast<size_t>(caller)] += result;
            }
        });
    for (std::thread& caller : callers) caller.join();
    for (int caller = 0; caller < kCallers; ++caller)
        CHECK(sums[static_cast<size_t>(caller)] == kRounds * (caller + 2) * (caller + 3) / 2);
}

TEST_CASE("pool: ranges cover all indices and end at multiples", "[host]") {
    for (const int threads : {1, 4}) {
        Pool pool(threads);
        for (const int64_t count : {0, 1, 15, 16, 17, 33, 1000})
            for (const int64_t least : {0, 1, 16, 5000}) {
                std::vector<std::atomic<int>> counts(static_cast<size_t>(count));
                std::atomic<int> parts = 0, misplaced = 0;
                pool.ranges(count, least, 16, [&](int64_t begin, int64_t end) {
                    ++parts;
                    if (begin % 16 != 0 || (end % 16 != 0 && end != count)) ++misplaced;
                    for (int64_t i = begin; i < end; ++i) ++counts[static_cast<size_t>(i)];
                });
                INFO(count << " indices, at least " << least);
                CHECK(misplaced == 0);
                CHECK(parts <= threads);
                if (least > count && count > 0) CHECK(parts == 1);
                CHECK(std::ranges::all_of(counts, [](const std::atomic<int>& times) { return times == 1; }));
            }
    }
}

TEST_CASE("pool: a process has at least one core", "[host]") {
    CHECK(Pool::allowedCores() >= 1);
    CHECK(Pool::shared().threads() == Pool::allowedCores());
}

#ifdef __linux__
TEST_CASE("pool: a thread that is limited to one core counts one", "[host]") {
    int cores = 0;
    std::thread([&] {
        cpu_set_t allowed, one;
        if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
        CPU_ZERO(&one);
        for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
            if (CPU_ISSET(core, &allowed)) CPU_SET(core, &one);
        if (sched_setaffinity(0, sizeof(one), &one) == 0) cores = Pool::allowedCores();
    }).join();
    CHECK(cores == 1);
}
#endif
