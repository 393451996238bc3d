#include "engine/host/pool.h"

#include "engine/host/fetch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#ifdef __linux__
#include <sched.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace attn::host {
namespace {

/// How long a thread waits actively for work, or for the end of others' work, before it sleeps. Waking it takes about
/// 50 microseconds, which would be lost between the many short operations of a model's step.
constexpr std::chrono::microseconds kLookFor{150};

thread_local bool isWithinTask = false;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

/// Waits actively until `isDone` or until the time is over. @return whether isDone
template <typename Condition> bool lookFor(const Condition& isDone) {
    constexpr int kLooks = 32; // checks between two readings of the clock
    const auto end = std::chrono::steady_clock::now() + kLookFor;
    do {
        for (int look = 0; look < kLooks; ++look) {
            if (isDone()) return true;
            relax();
        }
    } while (std::chrono::steady_clock::now() < end);
    return isDone();
}

/// The cores' worth of time that the control group allows. @return 0 if there is no limit
double coresOfControlGroup() {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
    try {
        return std::stod(quota) / period;
    } catch (const std::exception&) { // a program other than the kernel wrote this file
        return 0;
    }
}

} // namespace

int Pool::allowedCores() {
    int cores = static_cast<int>(std::thread::hardware_concurrency());
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = CPU_COUNT(&set);
#endif
    if (const double limit = coresOfControlGroup(); limit > 0)
        cores = std::min(cores, static_cast<int>(std::ceil(limit)));
    return std::max(cores, 1);
}

Pool& Pool::shared() {
    static Pool pool(allowedCores());
    return pool;
}

Pool::Pool(int threads) : threads_(std::max(threads, 1)) {
    for (int i = 1; i < threads_; ++i) workers_.emplace_back([this, i] { work(i); });
}

Pool::~Pool() {
    ends_ = true;
    ++jobs_;
    jobs_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void Pool::run(int64_t count, Call call, const void* context) {
    if (count <= 0) return;
    if (count == 1 || workers_.empty() || isWithinTask) {
        for (int64_t i = 0; i < count; ++i) call(context, i);
        return;
    }
    if (count > static_cast<int64_t>(kCountMask)) { // more than a ticket can count: run two halves
        const int64_t half = count / 2;
        run(half, call, context);
        struct Rest {
            Call call;
            const void* context;
            int64_t first;
        } rest{call, context, half};
        run(
            count - half,
            [](const void* of, int64_t index) {
                const Rest& other = *static_cast<const Rest*>(of);
                other.call(other.context, other.first + index);
            },
            &rest);
        return;
    }
    const std::lock_guard lock(turn_);
    call_.store(call, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    unfinished_.store(count, std::memory_order_relaxed);
    const uint64_t job = (ticket_.load(std::memory_order_relaxed) >> (2 * kCountBits)) + 1;
    ticket_.store(job << (2 * kCountBits) | static_cast<uint64_t>(count) << kCountBits, std::memory_order_release);
    jobs_.fetch_add(1, std::memory_order_release);
    jobs_.notify_all();

    while (workOnce()) {
    }
    while (!lookFor([&] { return unfinished_.load(std::memory_order_acquire) == 0; }))
        if (const int64_t left = unfinished_.load(std::memory_order_acquire); left > 0)
            unfinished_.wait(left, std::memory_order_acquire);
}

/// Takes one task of the current job and does it. @return false if none is left
bool Pool::workOnce() {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    do {
        if ((ticket & kCountMask) >= (ticket >> kCountBits & kCountMask)) return false;
    } while (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel));
    // The job cannot end before this task, so its function stays valid.
    isWithinTask = true;
    call_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed),
                                          static_cast<int64_t>(ticket & kCountMask));
    isWithinTask = false;
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_all();
    return true;
}

void Pool::expect(std::span<const std::span<const std::byte>> pieces) {
    for (size_t i = 0; i < kMostExpected; ++i) { // other threads may read a mixed pair, which does no harm
        expected_[i].bytes.store(i < pieces.size() ? static_cast<int64_t>(pieces[i].size()) : 0,
                                 std::memory_order_relaxed);
        if (i < pieces.size()) expected_[i].begin.store(pieces[i].data(), std::memory_order_relaxed);
    }
}

/// Waits for another job than `seen`, and prefetches expected memory meanwhile.
bool Pool::lookForJob(int64_t thread, uint32_t seen) {
    constexpr int64_t kMost = 512 << 10; // half of a typical second-level cache
    constexpr int64_t kAtOnce = 1024;
    int64_t all = 0;
    for (const Piece& piece : expected_) all += piece.bytes.load(std::memory_order_relaxed);
    const int64_t share = inLongRanges(all) / threads();
    int64_t before = thread * share; // bytes from the current piece on that other threads load or that are loaded
    int64_t left = std::min(share, kMost);
    auto piece = expected_.begin();
    return lookFor([&] {
        if (left > 0 && piece != expected_.end()) {
            const int64_t size = piece->bytes.load(std::memory_order_relaxed);
            const auto* const begin = piece->begin.load(std::memory_order_relaxed);
            before = std::max<int64_t>(before, 0); // the next job may have changed the pieces meanwhile
            const int64_t bytes = std::min({size - before, left, kAtOnce});
            if (bytes > 0 && begin) {
                fetch(begin + before, bytes);
                before += bytes;
                left -= bytes;
            } else {
                before -= size;
                ++piece;
            }
        }
        return jobs_.load(std::memory_order_acquire) != seen;
    });
}

void Pool::work(int64_t thread) {
    while (!ends_) {
        const uint32_t seen = jobs_.load(std::memory_order_acquire);
        while (workOnce()) {
        }
        if (!lookForJob(thread, seen) && !ends_) jobs_.wait(seen, std::memory_order_acquire);
    }
}

} // namespace attn::host
