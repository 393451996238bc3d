#pragma once

#include "app/lab/panels/change_form.h"
#include "app/lab/workbench/panel.h"
#include "engine/session/vision_session.h"

#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QPushButton;
class QSlider;
class QSpinBox;
class QTreeWidget;

namespace attn {

class MatrixView;

/// The changes that are made to a vision model's run.
struct VisionChange {
    Changes changes{};   ///< any text in them means the other picture
    QString otherName{}; ///< argument of VisionPanel::openPicture(); empty: none
    std::shared_ptr<const Image> other{};
    bool isNone() const { return changes.empty(); }
    bool operator==(const VisionChange&) const = default;
};

/// Controls that change a vision model's run: gates of heads, values of hooks, and patterns that are set or painted.
class VisionChanges : public QWidget {
    Q_OBJECT

public:
    explicit VisionChanges(QWidget* parent = nullptr);

    void setTheme(const FigureTheme& theme);
    void setSnapshot(const std::shared_ptr<const VisionSnapshot>& snapshot);
    void setChange(const VisionChange& change);
    /// @param patch the query; none: the first token before the patches, or all patches where there is none
    void setChosen(int layer, int head, std::optional<int> patch);
    /// @param pictures title and name of each picture that can be chosen as the other picture
    void setPictures(const QList<std::pair<QString, QString>>& pictures);

    void setRun(ShownRun run); ///< the run on display
    bool isPainting() const;
    void stopPainting();
    /// Adds a patch to the painted keys of the chosen query, or removes it. The painted keys share the attention
    /// equally.
    /// @param isFirst of a drag: this patch decides whether the whole drag adds or removes
    void paint(int patch, bool isFirst);
    /// Appends a change to the list.
    void add(const Intervention& intervention);
    ExportNumbers numbers() const; ///< the gates

signals:
    /// @param text for the Edit menu  @param what the kind of edit; equal ones in a row merge into one undo step
    void edited(const attn::VisionChange& after, const QString& text, const QString& what);
    void headChosen(int layer, int head);
    void runChosen(attn::ShownRun run);
    void paintingChanged(bool isPainting);
    /// @param name of a picture; empty: none; "file:": ask for a file
    void otherChosen(const QString& name);

private:
    void makeGates();
    QWidget* makeForm();
    void makePattern();
    void setGate(float gate);
    void addDescribed();
    void changeSelected();
    void removeSelected();
    void applyPattern(const PatternEdit& edit, const QString& text);
    std::vector<int> queries() const; ///< tokens whose rows are painted
    int headsOf(int layer) const;
    int tokens() const;
    const LayerLayout* layoutOf(int layer) const; ///< null until the model has run
    int tokenOf(int patch, int layer) const;      ///< of the layer, which may have fewer tokens
    size_t layerTokens() const;                   ///< of the chosen layer
    Intervention::Kind kind() const;
    ChangePlace place() const;
    void showForm();
    void showGates();
    void showList();
    void showState();

    std::shared_ptr<const VisionSnapshot> shown_ = std::make_shared<VisionSnapshot>();
    VisionChange change_;
    std::optional<int> patch_;
    bool paintsMore_ = true; ///< whether the drag adds patches or removes them

    QLabel *title_, *gateText_, *amountText_, *otherLabel_, *patternHint_;
    QPushButton *reset_, *add_, *remove_, *pin_, *uniform_, *own_, *paint_;
    QComboBox *run_, *where_, *token_, *kind_, *source_, *other_;
    QSpinBox *layer_, *head_;
    QSlider *gate_, *amount_;
    MatrixView* gates_;
    QTreeWidget* list_;
};

} // namespace attn
