#pragma once

#include "engine/jobs/job_list.h"

#include <QObject>

#include <memory>

namespace attn {

/// The list of this process's jobs, for the window's thread.
class JobBridge : public QObject {
    Q_OBJECT

public:
    /// Call this on the window's thread.
    static JobBridge& ofProgram();

    /// The newest snapshot that was delivered; never null.
    const std::shared_ptr<const JobSnapshot>& snapshot() const { return snapshot_; }

signals:
    void changed();

private:
    explicit JobBridge(QObject* parent);
    std::shared_ptr<const JobSnapshot> snapshot_;
};

} // namespace attn
