#include "app/lab/bridge/background_task.h"

#include <QCoreApplication>
#include <QObject>

#include <algorithm>
#include <thread>

namespace attn {
namespace {

/// A queue that ends with the application.
class Threads : public QObject {
public:
    explicit Threads(int count) : QObject(QCoreApplication::instance()), queue(count) {}
    JobQueue queue;
};

} // namespace

JobQueue& BackgroundTask::queue() {
    constexpr int kFewestThreads = 4; // work that waits for a slow disk does not hold up the rest
    static auto* const threads =
        new Threads(std::max(kFewestThreads, static_cast<int>(std::thread::hardware_concurrency())));
    return threads->queue;
}

} // namespace attn
