#pragma once

#include "app/lab/panels/attention_page.h"

class QStackedWidget;

namespace attn {

class PictureHeads;
class PictureTools;
class PictureView;

/// Attention over the picture that the model reads: of all heads, or of one, a mean or a rollout. There are no cells.
class PictureAttention : public AttentionPage {
    Q_OBJECT

public:
    explicit PictureAttention(Workbench& bench);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    void showSettings() override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    AttentionLevel level() const override { return level_; }
    void setLevel(AttentionLevel level) override;
    bool hasHead() const override;
    HeadAggregate aggregate() const override;
    void setAggregate(HeadAggregate aggregate) override;
    void choose(const HeadChoice& choice) override;
    ColourMapId colours() const override;
    void setColours(ColourMapId colours) override;
    QWidget* figure() override;
    const Figure* shownFigure() const override;

private:
    AttentionLevel level_ = AttentionLevel::OneHead;
    PictureTools* tools_;
    PictureHeads* heads_;
    PictureView* picture_;
    QStackedWidget* stack_;
};

} // namespace attn
