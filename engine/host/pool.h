#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace attn::host {

/// The threads that compute on the processor. A caller hands out numbered tasks; it works on them itself, beside the
/// pool's threads, and returns when all have ended. Callers of several threads take turns.
class Pool {
public:
    /// @param threads that work at once, the caller included; at least 1
    explicit Pool(int threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// The pool of this process, with a thread for each core that it may use.
    static Pool& shared();
    /// The number of cores that this process may use: those of its affinity, or fewer if its control group allows less
    /// time.
    static int allowedCores();

    int threads() const { return threads_; }

    /// Calls task(i) for each i below `count`. Within a task, run() calls its tasks one after another.
    template <typename Task> void run(int64_t count, const Task& task) {
        run(
            count, [](const void* context, int64_t index) { (*static_cast<const Task*>(context))(index); }, &task);
    }

    /// Splits the indices below `count` into ranges of about equal length, one for each thread but none shorter than
    /// `least`, whose lengths are multiples of `multiple`. Calls task(begin, end) for each.
    template <typename Task> void ranges(int64_t count, int64_t least, int64_t multiple, const Task& task) {
        if (count <= 0) return;
        const int64_t parts = std::min<int64_t>(threads(), std::max<int64_t>(count / std::max<int64_t>(least, 1), 1));
        const int64_t length = ((count + parts - 1) / parts + multiple - 1) / multiple * multiple;
        run((count + length - 1) / length,
            [&](int64_t part) { task(part * length, std::min((part + 1) * length, count)); });
    }

    /// ranges() for threads that do not get on equally fast, because they share the memory: most indices in one long
    /// range for each thread, the rest in short ranges for those that end first.
    template <typename Task> void shares(int64_t count, int64_t least, int64_t multiple, const Task& task) {
        constexpr int64_t kShort = 32; // of as many short ranges the work would consist
        const int64_t parts = std::min<int64_t>(threads(), count / std::max<int64_t>(least, 1));
        if (parts < 2) return ranges(count, least, multiple, task);
        const int64_t longLength = inLongRanges(count) / parts / multiple * multiple, rest = count - parts * longLength;
        const int64_t shortLength = (count / kShort + multiple) / multiple * multiple;
        run(parts + (rest + shortLength - 1) / shortLength, [&](int64_t i) {
            const int64_t begin = i < parts ? i * longLength : parts * longLength + (i - parts) * shortLength;
            task(begin, i < parts ? begin + longLength : std::min(begin + shortLength, count));
        });
    }

    /// Says which memory a later shares() will read, piece after piece. Threads that have no work until then ask for
    /// their part of it. @param pieces beyond kMostExpected are ignored
    void expect(std::span<const std::span<const std::byte>> pieces);
    static constexpr size_t kMostExpected = 4;

private:
    using Call = void (*)(const void* context, int64_t index);
    void run(int64_t count, Call call, const void* context);
    /// How many of the indices of shares(), or of the bytes that they stand for, lie in long ranges.
    static int64_t inLongRanges(int64_t count) { return count * 3 / 4; }
    void work(int64_t thread);
    bool lookForJob(int64_t thread, uint32_t seen);
    bool workOnce();

    // One word holds the job's number, the number of its tasks and the next task, so that a thread that comes late
    // cannot take a task of another job.
    static constexpr int kCountBits = 20;
    static constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;

    const int threads_; ///< that work, the callers included
    std::mutex turn_;   ///< of the callers
    std::atomic<uint64_t> ticket_{0};
    std::atomic<Call> call_{nullptr};
    std::atomic<const void*> context_{nullptr};
    std::atomic<int64_t> unfinished_{0};
    std::atomic<uint32_t> jobs_{0}; ///< changes with each job; threads sleep on it
    std::atomic<bool> ends_{false};
    struct Piece {
        std::atomic<const std::byte*> begin{nullptr};
        std::atomic<int64_t> bytes{0};
    };
    std::array<Piece, kMostExpected> expected_;
    std::vector<std::thread> workers_;
};

} // namespace attn::host
