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

/// One kind of map of two attentions, their difference, and how far their patterns and outputs are apart. A double
/// click enlarges a map and brings all back.
class ComparisonView : public QWidget {
    Q_OBJECT

public:
    explicit ComparisonView(QWidget* parent = nullptr);

    /// @param snapshot with a comparison  @param head, plane which of each map
    void showMaps(const std::shared_ptr<const PlaygroundSnapshot>& snapshot, int head, int plane);
    void setTheme(const FigureTheme& theme);
    /// Of the tokens, for the axes of the maps that are shown next; empty: they have none.
    void setLabels(std::vector<QString> labels) { labels_ = std::move(labels); }

    /// What export writes: the map that is enlarged or was last worked in, else the difference.
    const Figure& current() const;
    QString kind() const; ///< the name of the map that is compared
    void setKind(const QString& name);

signals:
    /// What stands in the cell that is pointed at; empty: at none.
    void readingChanged(const QString& text);
    /// The row that is pointed at in any map.
    void rowPointed(std::optional<int> row);

private:
    std::vector<QString> labels_;
    void offerKinds();
    void refresh();
    void arrange();
    void point(const MatrixView* from, const std::optional<Cell>& cell);

    std::shared_ptr<const PlaygroundSnapshot> shown_;
    int head_ = 0, plane_ = 0;
    QString wanted_ = QStringLiteral("pattern"); ///< kept while a spec forms none
    QComboBox* kind_;
    QLabel *error_, *remark_;
    QGridLayout* grid_;
    std::array<MatrixView*, 3> maps_; ///< of A, of B, A - B
    LinesView* divergence_;
    const MatrixView *enlarged_ = nullptr, *lastUsed_ = nullptr;
};

} // namespace attn
