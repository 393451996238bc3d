#pragma once

#include "app/lab/widgets/matrix_view.h"
#include "engine/session/playground_session.h"

#include <array>
#include <vector>

class QComboBox;
class QGridLayout;
class QLabel;

namespace attn {

class LinesView;

/// Compares two attentions, A and B: one kind of map of both, the difference A − B, and measures of the difference
/// between their patterns and outputs. A double click enlarges a map, or shows all maps again.
class ComparisonView : public QWidget {
    Q_OBJECT

public:
    explicit ComparisonView(QWidget* parent = nullptr);

    /// @param snapshot with a comparison  @param head, plane the matrix of each map to show
    void showMaps(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head, int plane);
    void setTheme(const FigureTheme& theme);
    /// Sets the token labels on the axes of the maps that are shown next; empty: no labels.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }

    /// @return the map to export: the enlarged or last used one, otherwise the difference
    const Figure& current() const;
    QString kind() const; ///< the name of the map that is compared
    void setKind(const QString& name);

signals:
    /// @param text the reading of the cell under the pointer; empty: no cell
    void readingChanged(const QString& text);
    /// @param row under the pointer in any map; none when the pointer leaves
    void rowPointed(std::optional<int> row);

private:
    std::vector<QString> labels_;
    void offerKinds();
    void refresh();
    void arrange();
    void point(const MatrixView* from, const std::optional<MatrixCell>& cell);

    std::shared_ptr<const PlaygroundSnapshot> shown_;
    int head_ = 0, plane_ = 0;
    QString wanted_ = QStringLiteral("pattern"); ///< kept even if an attention has no such map
    QComboBox* kind_;
    QLabel *error_, *remark_;
    QGridLayout* grid_;
    std::array<MatrixView*, 3> maps_; ///< of A, of B, A - B
    LinesView* divergence_;
    const MatrixView *enlarged_ = nullptr, *lastUsed_ = nullptr;
};

} // namespace attn
