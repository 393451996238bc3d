#pragma once

#include "app/lab/panels/panel_context.h"
#include "app/lab/panels/vision_changes.h"
#include "app/lab/widgets/vision_look.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSlider;
class QSpinBox;
class QTreeWidget;
class QTreeWidgetItem;
class QVBoxLayout;

namespace attn {

class PatchOverlayView;
class VisionViews;

/// The picture that a vision model is shown, and how the model is changed, as undo keeps it.
struct VisionSetup {
    QString name;                         ///< of a built-in picture, a path, or what it was pasted as
    std::shared_ptr<const Image> picture; ///< null: none
    std::vector<int> hidden;              ///< patches, in rising order
    VisionChange change{};
    bool operator==(const VisionSetup&) const = default;
};

/// A picture in patches, where each of them looks in every head of a vision model, attention rolled out through its
/// layers, also by the gradient of a class, and what the model takes the picture for, also with patches hidden.
class VisionPanel : public Panel {
    Q_OBJECT

public:
    VisionPanel(PanelContext& context, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>&) override {}
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

    /// Opens a folder of a vision model, with the first of the pictures that it brings along.
    void openModel(const QString& path);
    /// What is opened when the panel is first looked at, unless another model is open by then.
    void setDefaultModel(const QString& path) { defaultModel_ = path; }
    /// A built-in picture, or a file. What cannot be read is said in the panel.
    void openPicture(const QString& name);
    /// Offers the pictures of a folder, by name, and opens the first. Without any it says so.
    void openPictures(const QString& folder);
    const VisionSetup& setup() const { return setup_; }
    const std::shared_ptr<const VisionSnapshot>& shown() const { return shown_; }
    bool isChanged() const { return !setup_.change.isNone(); }
    void resetChanges(); ///< the model as it was loaded
    /// "step 120": of the run that is shown; empty for a model that is none.
    QString momentTitle() const { return QString::fromStdString(shown_->query.moment); }

signals:
    /// Whether the model runs as it was loaded may be another matter now.
    void changed();

protected:
    void showEvent(QShowEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    QWidget* makeControls();
    void makeModelControls(QVBoxLayout* column);
    void makePictureControls(QVBoxLayout* column);
    void makeViewControls(QVBoxLayout* column);
    void makeAnswers(QVBoxLayout* column);
    void chooseModel();
    void showMoment(const std::shared_ptr<const WeightSet>& weights, const QString& path, const QString& title);
    void showOtherModel();
    std::optional<VisionSetup> setupOf(const QString& name);
    void choosePicture(int index);
    void pastePicture();
    void listPictures();

    void receive(const std::shared_ptr<const VisionSnapshot>& snapshot);
    void ask();
    void apply(const VisionSetup& setup);
    void edit(const VisionSetup& setup, const QString& text, const QString& what);
    /// Another picture, all of it, with the model changed as before.
    void editPicture(const QString& name, std::shared_ptr<const Image> picture);
    void connectChanges();
    void chooseOther(const QString& name);
    QJsonObject saveChange() const;
    void restoreChange(const QJsonObject& saved);
    std::shared_ptr<const VisionSnapshot> drawn() const; ///< with the run that is chosen as its answer
    void cross(int patch, bool isFirst);
    void setCrossing();
    void showModel();
    void showModelText();
    void showAnswers();
    void chooseClass(const QTreeWidgetItem* item);
    void showLook();
    void showOverlay();
    VisionLook look() const;
    bool showsRollout() const;

    PanelContext& context_;
    std::shared_ptr<const VisionSnapshot> shown_;
    QString model_, defaultModel_;
    std::shared_ptr<const WeightSet> weights_; ///< of a run as it trains, in place of the folder's
    QString moment_;                           ///< of the run
    QStringList examples_, others_;            ///< pictures of the model, and of a folder
    VisionSetup setup_, before_;               ///< before a drag over patches
    bool hidesMore_ = true;                    ///< a drag hides, or shows again
    std::vector<float> plain_;                 ///< probabilities of the picture with no patch hidden
    std::shared_ptr<const Image> plainOf_;
    std::optional<int> patch_, pointed_;
    int layer_ = 0;

    QLabel *modelText_, *message_, *answerText_;
    QComboBox *picture_, *view_, *head_, *fusion_, *weighted_, *colours_;
    QSpinBox* layerBox_;
    QSlider *opacity_, *discard_;
    QCheckBox *smooth_, *hide_;
    QPushButton *fromAll_, *showAll_;
    QWidget *attentionRow_, *rolloutRow_;
    QTreeWidget* answers_;
    PatchOverlayView* overlay_;
    VisionViews* views_;
};

} // namespace attn
