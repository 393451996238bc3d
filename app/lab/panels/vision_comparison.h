#pragma once

#include "app/lab/panels/panel_context.h"
#include "app/lab/widgets/vision_look.h"

class QComboBox;
class QLabel;
class QSplitter;
class QTreeWidget;

namespace attn {

class PatchOverlayView;

/// The same look at another picture, or of another model, beside the vision panel's own: its map, the difference of the
/// maps where the grids agree, and what both take their pictures for.
class VisionComparison : public QWidget {
    Q_OBJECT

public:
    explicit VisionComparison(PanelContext& context, QWidget* parent = nullptr);

    /// What the first model is asked; the second is asked the same but for what is compared.
    void follow(const VisionQuery& first);
    void showFirst(const std::shared_ptr<const VisionSnapshot>& first, const VisionLook& look);
    void setTheme(const FigureTheme& theme);
    /// @param other "picture:" and the name of a built-in one or a path, "model:" and a path, or nothing
    void compareWith(const QString& other);
    const std::shared_ptr<const VisionSnapshot>& second() const { return second_; }

    QWidget* figure();
    QString csv() const;
    std::vector<NumberArray> numbers() const;
    QJsonObject saveView() const { return {{"compare", other_}}; }
    void restoreView(const QJsonObject& view);

private:
    void choose(int index);
    void list();
    void ask();
    void refresh();
    void showClasses();
    /// Of the first model's class in the second; none where it has none of that name.
    std::optional<int> sameClass(std::optional<int> label) const;

    PanelContext& context_;
    QString other_;                        ///< as compareWith() takes it
    std::shared_ptr<const Image> picture_; ///< null: the first's
    VisionQuery query_;                    ///< of the first
    std::shared_ptr<const VisionSnapshot> first_, second_;
    VisionLook look_;

    QComboBox* with_;
    QLabel* message_;
    QSplitter* views_;
    PatchOverlayView *map_, *difference_;
    QTreeWidget* classes_;
};

} // namespace attn
