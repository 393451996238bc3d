#pragma once

#include "app/figures/rotation_figure.h"
#include "app/lab/widgets/figure_view.h"
#include "engine/session/playground_session.h"

#include <QJsonObject>

#include <memory>
#include <vector>

class QGridLayout;
class QLabel;

namespace attn {

class LinesView;
class MatrixView;
class ParamControls;

/// What the position part of a spec does to made-up inputs, also beyond the length that a model was trained on: its
/// encodings, the planes it rotates, the numbers it adds to scores, and the score of equal tokens by distance.
class PositionView : public QWidget {
    Q_OBJECT

public:
    explicit PositionView(QWidget* parent = nullptr);

    /// What to ask the session for.
    PositionQuery query(const AttentionSpec& spec, int64_t width, uint64_t seed) const;
    /// @param snapshot with the pictures of the query that was asked last, or why there are none
    void showPictures(const std::shared_ptr<const PlaygroundSnapshot>& snapshot);
    void setTheme(const FigureTheme& theme);

    /// What export writes: the picture last pointed at, else the scores by distance.
    const Figure& current() const;
    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

signals:
    /// Other lengths are to be shown.
    void queryChanged();

private:
    void arrange(const std::vector<QWidget*>& shown);
    void showEncodings(const PlaygroundMap& encodings);
    LinesView* plot(const char* name);
    int trained() const;

    std::shared_ptr<const PositionPictures> shown_;
    ParamControls* lengths_;
    QLabel *title_, *reading_;
    QGridLayout* grid_;
    MatrixView* encodings_;
    LinesView *waves_, *similarity_, *added_, *factor_, *slopes_;
    FigureView<RotationFigure>* rotation_;
    std::vector<QWidget*> all_;
    const QWidget* lastUsed_ = nullptr;
};

} // namespace attn
