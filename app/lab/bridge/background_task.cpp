#include "app/lab/bridge/background_task.h"

#include <QCoreApplication>

#include <algorithm>

namespace attn {

QThreadPool& BackgroundTask::threads() {
    static QThreadPool* const pool = [] {
        constexpr int kFewestThreads = 4; // so that a slow disk does not delay all work
        auto* made = new QThreadPool(QCoreApplication::instance());
        made->setMaxThreadCount(std::max(kFewestThreads, made->maxThreadCount()));
        return made;
    }();
    return *pool;
}

} // namespace attn
