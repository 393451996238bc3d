#pragma once

#include "app/lab/workbench/panel.h"

#include <span>

class QLabel;
class QSplitter;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

class LinesView;
class PictureHeads;

/// Summarises the selected head of a text: attention received by each key, attention by distance, and the largest
/// weights.
class ProfilePanel : public Panel {
    Q_OBJECT

public:
    explicit ProfilePanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showIfNew();
    void showProfile();
    void showTitle(); ///< includes the value under the pointer
    /// Values to draw for a part of the profile: changed minus original if both are there, else the values themselves.
    std::vector<float> lessBefore(std::vector<float> values, std::vector<float> HeadProfile::*part) const;
    static QString tokenText(std::span<const TokenInfo> tokens, int token); ///< "12 “the”"

    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const HeadProfile> shown_, before_; ///< before_: of the original run; null: not compared
    uint64_t shownVersion_ = 0;                         ///< Snapshot::sequenceVersion of shown_
    QLabel* title_;
    QSplitter* split_;
    LinesView *received_, *distances_;
    QTreeWidget* largest_;
};

/// How far every head looks in a picture.
class PictureProfile : public Panel {
    Q_OBJECT

public:
    explicit PictureProfile(Workbench& bench, QWidget* parent = nullptr);
    QWidget* figure() override;
    ExportNumbers numbers() const override;

private:
    PictureHeads* heads_;
};

} // namespace attn
