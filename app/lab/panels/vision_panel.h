#pragma once

#include "app/figures/vision_look.h"
#include "app/lab/bridge/background_task.h"
#include "app/lab/panels/vision_changes.h"
#include "app/lab/workbench/panel.h"

#include <QJsonObject>

#include <atomic>
#include <functional>
#include <variant>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QMimeData;
class QPushButton;
class QSlider;
class QSpinBox;
class QTreeWidget;
class QTreeWidgetItem;
class QVBoxLayout;

namespace attn {

class PatchOverlayView;
class VisionViews;

/// The picture that a vision model reads and the changes to its run: the state that undo restores.
struct VisionSetup {
    QString name;                         ///< of a built-in picture, a path, or a title
    std::shared_ptr<const Image> picture; ///< null: none
    std::vector<int> hidden;              ///< indices of hidden patches, ascending
    VisionChange change{};
    bool operator==(const VisionSetup&) const = default;
};

/// Shows a vision model with one picture: where each patch looks in every head, attention rollout (also weighted by the
/// gradient of a class), and the predicted classes (also with hidden patches or changes).
class VisionPanel : public Panel {
    Q_OBJECT

public:
    VisionPanel(Workbench& bench, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>&) override {}
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

    /// Opens the folder of a vision model, with the first of its example pictures.
    void openModel(const QString& path);
    /// Sets the model that is opened when the panel is first shown, unless another one is open by then.
    void setDefaultModel(const QString& path) { defaultModel_ = path; }
    /// Opens a built-in picture or a file. Shows a message if it cannot be read.
    void openPicture(const QString& name);
    /// Lists the pictures of a folder by name and opens the first. Shows a message if there are none.
    void openPictures(const QString& folder);
    /// Whether a picture or a folder is being read that is to be opened.
    bool isReading() const { return reading_.isRunning() || readingOther_.isRunning() || listingExamples_.isRunning(); }
    void cancelReading();
    const VisionSetup& setup() const { return setup_; }
    const std::shared_ptr<const VisionSnapshot>& shown() const { return shown_; }
    bool isChanged() const { return !setup_.change.isNone(); }
    void resetChanges(); ///< removes all changes
    /// @return the checkpoint that is shown, "step 120"; empty if the model is not from a training run here
    QString momentTitle() const { return QString::fromStdString(shown_->query.moment); }

signals:
    /// The changes may have been edited: isChanged() may have a new value.
    void changed();
    /// @param what is being read, a sentence; empty: nothing more
    void readingChanged(const QString& what);

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
    void loadModel(const QString& path);
    void showOtherModel();
    /// Lists the pictures that belong to the model.
    void listExamples();
    /// Starts a task that the window shows and can cancel.
    template <class Result>
    void read(BackgroundTask& task, const QString& name,
              std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
              std::function<void(std::variant<Result, Failure>)> done);
    void stop(BackgroundTask& task);
    using Reader = std::function<void(const VisionSetup* read)>;
    /// Reads a picture: a built-in one at once, a file on another thread. @param then gets null after a failure, which
    /// is shown
    void readAside(BackgroundTask& task, const QString& name, Reader then);
    void decodeAside(BackgroundTask& task, const QString& name, std::function<std::variant<Image, Failure>()> decode,
                     Reader then);
    Reader opener(); ///< shows the picture that was read
    /// Opens a picture that was dropped or copied. @param name shown on screen  @return false if there is none
    bool openData(const QMimeData& mime, const QString& name);
    void showPictures(const QString& folder, QStringList paths);
    /// Shows why there is no other picture, until there is one.
    void showProblem(const QString& text);
    static QString message(const Failure& failure);
    void choosePicture(int index);
    void pastePicture();
    void listPictures();

    void receive(const std::shared_ptr<const VisionSnapshot>& snapshot);
    void ask();
    void apply(const VisionSetup& setup);
    void edit(const VisionSetup& setup, const QString& text, const QString& what);
    /// Shows another picture without hidden patches. The changes stay.
    void editPicture(const QString& name, std::shared_ptr<const Image> picture);
    void connectChanges();
    void chooseOther(const QString& name);
    void setOther(const QString& name, std::shared_ptr<const Image> picture);
    QJsonObject saveChange() const;
    void restoreChange(const QJsonObject& saved);
    void restoreGates(const QJsonArray& gates);
    std::shared_ptr<const VisionSnapshot> drawn() const; ///< its answer is that of the chosen run
    void cross(int patch, bool isFirst);
    void setCrossing();
    void restoreViewOfModel();
    void showModel();
    void showModelText();
    void showAnswers();
    void chooseClass(const QTreeWidgetItem* item);
    void showLook();
    void showOverlay();
    VisionLook look() const;
    bool showsRollout() const;

    static constexpr const char* kViewKeys[] = {"attention", "rollout"};
    static constexpr const char* kFusionKeys[] = {"mean", "maximum", "minimum"};

    Workbench& bench_;
    std::shared_ptr<const VisionSnapshot> shown_;
    QString model_, defaultModel_;
    std::shared_ptr<const WeightSet> weights_; ///< of a checkpoint, in place of the folder's; null: none
    QString moment_;                           ///< title of the checkpoint; empty: none
    QStringList examples_, others_;            ///< paths: of the model, and of an opened folder
    VisionSetup setup_, before_;               ///< before_: before a drag over patches
    bool hidesMore_ = true;                    ///< whether the drag hides patches or shows them
    std::vector<float> plain_;                 ///< probabilities without hidden patches or changes
    std::shared_ptr<const Image> plainOf_;
    std::optional<int> patch_, pointed_;
    QJsonObject viewOfModel_;               ///< layer, head and class to restore when the model has loaded
    BackgroundTask reading_, readingOther_; ///< of the picture or a folder, and of the other picture
    BackgroundTask listingExamples_;
    QString problem_;           ///< of the last picture or folder; empty: it could be read
    bool picksExample_ = false; ///< the model that was opened waits for the first of its examples

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
