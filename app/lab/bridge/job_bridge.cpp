#include "app/lab/bridge/job_bridge.h"

#include "app/lab/bridge/delivery.h"

#include <QCoreApplication>

namespace attn {

JobBridge& JobBridge::ofProgram() {
    static auto* const bridge = new JobBridge(QCoreApplication::instance());
    return *bridge;
}

JobBridge::JobBridge(QObject* parent) : QObject(parent), snapshot_(JobList::shared().latest()) {
    // A thread may be on its way to it when the application ends, so the list keeps it.
    const auto delivery = std::make_shared<Delivery>([this] {
        snapshot_ = JobList::shared().latest();
        emit changed();
    });
    JobList::shared().setListener([delivery] { delivery->request(); });
    connect(this, &QObject::destroyed, [delivery] {
        delivery->close();
        JobList::shared().setListener({});
    });
    delivery->request(); // for what was listed before the listener was set
}

} // namespace attn
