#pragma once

#include "app/lab/bridge/background_task.h"

#include <QSemaphore>

#include <utility>

namespace attn {

/// Keeps the threads for background work busy, so that nothing given to them begins: what happens all the same happens
/// on the window's thread.
class HeldPool {
public:
    HeldPool() : threads_(BackgroundTask::queue().threadCount()) {
        BackgroundTask::queue().waitIdle();
        for (int i = 0; i < threads_; ++i)
            BackgroundTask::queue().add(
                {.kind = {}, .key = {}, .title = {}, .run = [this](JobControl&) { gate_.acquire(); }});
    }
    ~HeldPool() { release(); }
    HeldPool(const HeldPool&) = delete;
    HeldPool& operator=(const HeldPool&) = delete;

    /// Lets the work begin, and waits until it is done. Its results are still on their way to the window's thread.
    void release() {
        gate_.release(std::exchange(threads_, 0));
        BackgroundTask::queue().waitIdle();
    }

private:
    int threads_;
    QSemaphore gate_;
};

} // namespace attn
