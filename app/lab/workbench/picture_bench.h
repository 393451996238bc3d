#pragma once

#include "app/figures/vision_figures.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/inference/given.h"
#include "engine/inference/picture_views.h"

#include <QList>
#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <utility>

namespace attn {

class Workbench;

/// The picture of a vision model, with the names under which session files keep it.
struct PictureSetup {
    QString name;         ///< of a built-in picture, a path, or a title
    GivenPicture given{}; ///< with hidden patches and the other picture
    QString otherName{};  ///< of GivenPicture::other; empty: none
    bool operator==(const PictureSetup&) const = default;
};

/// The state that panels share while the model reads pictures: the picture, how patterns are drawn over it, and what a
/// drag over it does. The head and the patch are those of the workbench's selection.
class PictureBench : public QObject {
    Q_OBJECT

public:
    explicit PictureBench(Workbench& bench);

    const PictureSetup& setup() const { return setup_; }
    /// Shows another picture or hides other patches, without a step of undo.
    void set(const PictureSetup& setup);
    /// The same as one step of undo. Steps of one gesture with equal `what` become one.
    /// @param text for the Edit menu  @param what names what changed
    void edit(const PictureSetup& setup, const QString& text, const QString& what);
    /// Takes back what refers to the former model: the class of the rollout, the head and the patch under the pointer.
    /// The workbench emits lookChanged() once every panel has the new model.
    void forgetModel();
    /// Sends the picture to the session again, for another model.
    void post();
    /// Chooses the picture that changes and analyses copy values from. @param name empty: none
    void setOther(const QString& name, std::shared_ptr<const Image> picture);

    /// Title and name of each picture that can be chosen.
    using Choices = QList<std::pair<QString, QString>>;
    const Choices& choices() const { return choices_; }
    void setChoices(const Choices& choices);
    /// Reads a picture and chooses it as the other one. @param name empty: none
    void requestOther(const QString& name) { emit otherRequested(name); }

    /// What is drawn: that of setLook(), with the selected head and patch, or the patch under the pointer.
    VisionLook look() const;
    /// @param look its site and patch, and its head unless that is an aggregate, are those of the selection
    void setLook(const VisionLook& look);
    std::optional<int> pointed() const { return pointed_; }
    void point(std::optional<int> patch);
    /// Selects a head, and shows it in place of an aggregate or a rollout.
    void showHead(int site, int head);
    /// Selects a patch; selecting it again deselects it.
    void togglePatch(int patch);

    /// How attention is rolled out over all layers.
    const RolloutAnalysis& rollout() const { return rollout_; }
    void setRollout(const RolloutOptions& options, std::optional<LogitTarget> target);
    /// Runs the rollout for the newest answer, if that has not been asked for.
    void askForRollout();

    enum class Brush {
        None, ///< a drag over the picture does nothing
        Hide, ///< it hides patches from the model
        Paint ///< it paints the pattern of the selected head
    };
    Brush brush() const { return brush_; }
    void setBrush(Brush brush);

signals:
    void changed(); ///< the setup
    void choicesChanged();
    void otherRequested(const QString& name);
    void lookChanged(); ///< also the selection and the pointer
    void brushChanged();
    void crossed(int patch, bool isFirst); ///< a drag reached a patch
    void crossingEnded();

private:
    Workbench& bench_;
    PictureSetup setup_;
    Choices choices_;
    VisionLook look_;
    std::optional<int> pointed_;
    RolloutAnalysis rollout_;
    uint64_t rolledOut_ = 0; ///< Snapshot::sequenceVersion when the rollout was last asked for
    Brush brush_ = Brush::None;
};

} // namespace attn
