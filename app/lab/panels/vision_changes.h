#pragma once

#include "app/lab/panels/change_form.h"
#include "app/lab/panels/panel_context.h"
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

/// What is changed about a vision model while it runs.
struct VisionChange {
    std::vector<float> gates{}; ///< [layers, heads]; empty: all open
    Edits edits{};              ///< any text in them stands for the other picture
    QString otherName{};        ///< as VisionPanel::openPicture() takes it; empty: none
    std::shared_ptr<const Image> other{};
    bool isNone() const;
    bool operator==(const VisionChange&) const = default;
};

/// Changes what flows through a vision model: gates of heads, values of hooks, patterns by hand.
class VisionChanges : public QWidget {
    Q_OBJECT

public:
    /// Which run the picture and the heads are drawn of.
    enum class Run { After, Before, Difference };

    explicit VisionChanges(QWidget* parent = nullptr);

    void setTheme(const FigureTheme& theme);
    void setSnapshot(const std::shared_ptr<const VisionSnapshot>& snapshot);
    void setChange(const VisionChange& change);
    /// @param patch that looks; none: the token before the patches, or all patches
    void setChosen(int layer, int head, std::optional<int> patch);
    /// @param pictures titles and names that other pictures are chosen from
    void setPictures(const QList<std::pair<QString, QString>>& pictures);

    Run run() const;
    bool isPainting() const;
    void stopPainting();
    /// The chosen token looks at the patch alone, or with those that were painted before; painted again, no more.
    void paint(int patch, bool isFirst);
    /// Puts one more change after the others.
    void add(const Intervention& intervention);
    QString csv() const; ///< of the gates

signals:
    /// @param text for the Edit menu  @param what is changed, for merging steps
    void edited(const attn::VisionChange& after, const QString& text, const QString& what);
    void headChosen(int layer, int head);
    void runChosen();
    void paintingChanged(bool isPainting);
    /// A name that pictures have, or nothing where a file is to be asked for.
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
    float gateOf(int layer, int head) const;
    int headsOf(int layer) const;
    int tokens() const;
    const LayerLayout* layoutOf(int layer) const; ///< null before there is an answer
    int tokenOf(int patch, int layer) const;      ///< of the layer, which may have fewer
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
    bool paintsMore_ = true; ///< a drag adds patches, or takes them away

    QLabel *title_, *gateText_, *amountText_, *otherLabel_, *patternHint_;
    QPushButton *reset_, *add_, *remove_, *pin_, *uniform_, *own_, *paint_;
    QComboBox *run_, *where_, *token_, *kind_, *source_, *other_;
    QSpinBox *layer_, *head_;
    QSlider *gate_, *amount_;
    MatrixView* gates_;
    QTreeWidget* list_;
};

} // namespace attn
