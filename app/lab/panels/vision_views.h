#pragma once

#include "app/lab/panels/panel_context.h"
#include "app/lab/widgets/vision_look.h"

class QComboBox;
class QStackedWidget;

namespace attn {

class HeadOverlaysView;
class PointedView;
class VisionChanges;
class VisionComparison;
class VisionLenses;

/// What stands beside the picture of the vision panel: every head, how far they look, what the weights say of positions
/// and filters, and another picture or model.
class VisionViews : public QWidget {
    Q_OBJECT

public:
    explicit VisionViews(PanelContext& context, QWidget* parent = nullptr);

    void showAnswer(const std::shared_ptr<const VisionSnapshot>& snapshot, const VisionLook& look);
    /// Of the run as it is, whichever one is drawn.
    void showState(const std::shared_ptr<const VisionSnapshot>& snapshot);
    /// Only the look has changed.
    void setLook(const VisionLook& look);
    void setSelected(int layer, int head); ///< head -1: none
    VisionChanges& changes() { return *changes_; }
    void showChanges(); ///< brings them to the front
    /// What is asked of the first model, which a comparison follows.
    void follow(const VisionQuery& query);
    /// Whether what is in front needs VisionQuery::embedding.
    bool needsEmbedding() const;

    /// Of what is in front; null where it is the picture itself with its heads.
    QWidget* figure() const;
    QString csv() const;
    std::vector<NumberArray> numbers() const;

    QJsonObject saveView() const;
    void restoreView(const QJsonObject& view);

signals:
    void headChosen(int layer, int head);
    void patchChosen(int patch);
    /// Another page is in front.
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
    HeadOverlaysView* heads_;
    PointedView *distance_, *positions_, *filters_;
    QComboBox *page_, *filterKind_;
    QStackedWidget* pages_;
    VisionComparison* comparison_;
    VisionChanges* changes_;
    VisionLenses* lenses_;
};

} // namespace attn
