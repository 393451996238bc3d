#pragma once

#include "app/figures/vision_look.h"
#include "app/lab/bridge/background_task.h"
#include "app/lab/workbench/panel.h"
#include "engine/session/vision_session.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QSplitter;
class QTreeWidget;

namespace attn {

class PatchOverlayView;

/// Compares the vision panel with a second picture or model: shows the second heatmap, the difference of both where
/// their grids of patches agree, and the predictions of both.
class VisionComparison : public QWidget {
    Q_OBJECT

public:
    explicit VisionComparison(Workbench& bench, QWidget* parent = nullptr);

    /// Repeats the first model's query with the second picture or model.
    void follow(const VisionQuery& first);
    void showFirst(const std::shared_ptr<const VisionSnapshot>& first, const VisionLook& look);
    void setTheme(const FigureTheme& theme);
    /// @param other "picture:" and the name of a built-in picture or a path; "model:" and a path; or empty: no
    /// comparison
    void compareWith(const QString& other);
    const std::shared_ptr<const VisionSnapshot>& second() const { return second_; }

    QWidget* figure();
    ExportNumbers numbers() const;
    QJsonObject saveView() const { return {{"compare", other_}}; }
    void restoreView(const QJsonObject& view);

private:
    void choose(int index);
    void list();
    /// @param picture the one that `other` names; null for a model
    void showBeside(const QString& other, std::shared_ptr<const Image> picture);
    void ask();
    void refresh();
    void showClasses();
    /// @return the class of the second model that has the name of the first model's; none if there is none
    std::optional<int> sameClass(std::optional<int> label) const;

    Workbench& bench_;
    QString other_;                        ///< argument of compareWith()
    std::shared_ptr<const Image> picture_; ///< null: the first picture
    VisionQuery query_;                    ///< of the first model
    std::shared_ptr<const VisionSnapshot> first_, second_;
    VisionLook look_;
    BackgroundTask reading_; ///< of the second picture

    QComboBox* with_;
    QLabel* message_;
    QSplitter* views_;
    PatchOverlayView *map_, *difference_;
    QTreeWidget* classes_;
};

} // namespace attn
