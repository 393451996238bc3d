#pragma once

#include "app/figures/vision_look.h"
#include "app/lab/workbench/panel.h"
#include "engine/session/vision_session.h"

#include <QWidget>

class QComboBox;
class QStackedWidget;

namespace attn {

class PointedView;
class VisionChanges;
class VisionComparison;
class VisionLenses;

/// The views beside the picture of the vision panel: every head, attention distance, position embeddings, patch
/// filters, comparison, changes and lenses.
class VisionViews : public QWidget {
    Q_OBJECT

public:
    explicit VisionViews(Workbench& bench, QWidget* parent = nullptr);

    void showAnswer(const std::shared_ptr<const VisionSnapshot>& snapshot, const VisionLook& look);
    /// Updates changes and lenses, which always show the run with its changes.
    void showState(const std::shared_ptr<const VisionSnapshot>& snapshot);
    /// Draws the same answer with other settings.
    void setLook(const VisionLook& look);
    void setSelected(int layer, int head); ///< head -1: none
    VisionChanges& changes() { return *changes_; }
    void showChanges(); ///< brings the changes to the front
    /// Passes the first model's query on to the comparison.
    void follow(const VisionQuery& query);
    /// Whether the front page needs VisionQuery::embedding.
    bool needsEmbedding() const;

    /// @return the widget of the front page for export; null for the page of heads, where the picture itself is
    /// exported
    QWidget* figure() const;
    ExportNumbers numbers() const;

    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

signals:
    void headChosen(int layer, int head);
    void patchChosen(int patch);
    /// Another page has come to the front.
    void pageChanged();
    void changeRequested(const attn::Intervention& intervention);

private:
    enum Page { Heads, Distance, Positions, Filters, Compare, Changes, Lenses };

    Page page() const;
    void setTheme(ThemeId theme);
    void showHeads();
    void showEmbedding();
    const PointedView* pointed() const;

    std::shared_ptr<const VisionSnapshot> shown_;
    VisionLook look_;
    PointedView *heads_, *distance_, *positions_, *filters_;
    QComboBox *page_, *filterKind_;
    QStackedWidget* pages_;
    VisionComparison* comparison_;
    VisionChanges* changes_;
    VisionLenses* lenses_;
};

} // namespace attn
