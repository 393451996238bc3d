#pragma once

#include "app/figures/flow_figure.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/lab/widgets/pointed_view.h"
#include "engine/analysis/logit_attribution.h"

#include <QTimer>

#include <map>

namespace attn {

class Workbench;
struct Snapshot;

/// The way from a token through the strongest heads of each layer to the prediction after it. It follows the token
/// under the pointer, or the selected one, or else the one from which the model predicts. A click on a head opens it.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits" (direct contributions to a logit)
class FlowStrip : public PointedView {
    Q_OBJECT

public:
    explicit FlowStrip(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void headOpened(const attn::HeadChoice& head);
    void headPointedAt(const std::optional<attn::HeadChoice>& head); ///< none: the pointer has left

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    bool readsOneText() const; ///< rows of the input are tokens before each of which the model can predict
    /// The token after which to predict; -1: the model has one answer to the whole input.
    int wanted() const;
    bool isCheap() const; ///< enough to ask without being asked to
    void ask();
    void askIfNew();
    void askAgain(); ///< by a person, where there is nothing to see yet
    void take();     ///< the result of this run, if there is one
    void draw();
    QString note() const; ///< in place of heads
    std::optional<HeadChoice> headOf(std::optional<int> item) const;

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::shared_ptr<const AnalysisResult> taken_;
    uint64_t version_ = 0;                                         ///< of the input that known_ belongs to
    std::map<int, std::shared_ptr<const LogitAttribution>> known_; ///< by wanted()
    std::optional<int> asked_;                                     ///< the last wanted() of this input that was asked
    int pointed_ = -1;                                             ///< token under the pointer in any panel; -1: none
    QTimer rest_;                                                  ///< until the pointer rests on a token
};

} // namespace attn
