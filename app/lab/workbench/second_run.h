#pragma once

#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/workbench.h"
#include "engine/analysis/attention_rollout.h"

#include <QObject>

namespace attn {

class SessionBridge;

/// The run B that is compared with the run on display, A: the same model without changes, the same model on another
/// input, or another model. It has a session of its own, which follows A.
class SecondRun : public QObject {
    Q_OBJECT

public:
    enum With { Nothing, Original, OtherInput, OtherModel };

    explicit SecondRun(Workbench& bench);
    ~SecondRun() override;

    With with() const { return with_; }
    const QString& text() const { return text_; } ///< of OtherInput
    /// Chooses B, and tries again after a failure.
    /// @param text of OtherInput, for models of text; vision models read the other picture of PictureBench
    /// @param path of OtherModel
    void choose(With with, const QString& text, const QString& path);
    /// Runs B as A runs now.
    void follow();
    /// The views that B needs.
    void want(const PatternRequest& view);
    const std::shared_ptr<const Snapshot>& snapshot() const { return second_; } ///< not null
    /// Whether B begins when A's text is written.
    bool waitsForFirst() const;
    /// Whether B has run and reads what A reads.
    bool isComparable() const;
    /// What is missing or went wrong; empty: B runs, or has run.
    QString problem() const;
    std::vector<std::string> warnings() const; ///< about B's model, if it is another one than A's
    bool waitIdle(double seconds);             ///< waits until B is idle, for tests

signals:
    void changed();

private:
    struct Asked {
        std::string path;
        Storage storage = Storage::F32;
        std::shared_ptr<const WeightSet> weights{};
        SecondInput input{};
        bool operator==(const Asked&) const = default;
    };
    bool readsTheSame() const;           ///< B's model reads what A's reads
    std::optional<Asked> wanted() const; ///< none: B cannot run, or A is at work
    void makeSession();
    void open(const Asked& next);
    void askForRollout();

    Workbench& bench_;
    With with_ = Nothing;
    QString text_, path_;
    std::unique_ptr<SessionBridge> bridge_; ///< created when it is first needed
    std::shared_ptr<const Snapshot> second_;
    std::optional<Asked> asked_;
    std::optional<PatternRequest> view_;
    bool isOpen_ = false;    ///< the model that was asked for is open
    uint64_t rolledOut_ = 0; ///< Snapshot::sequenceVersion when the rollout was last asked for
    RolloutAnalysis rollout_;
};

} // namespace attn
