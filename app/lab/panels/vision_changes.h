#pragma once

#include "app/lab/panels/change_form.h"
#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/workbench.h"

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

/// Controls that change a vision model's run: gates of heads, values of hooks, and patterns that are set or painted.
class VisionChanges : public Panel {
    Q_OBJECT

public:
    explicit VisionChanges(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override; ///< the gates

private:
    /// Adds a patch to the painted keys of the chosen query, or removes it. The painted keys share the attention
    /// equally.
    /// @param isFirst of a drag: this patch decides whether the whole drag adds or removes
    void paint(int patch, bool isFirst);
    void showSelected();
    void listPictures();
    void chooseOther(const QString& name);
    const Changes& changes() const { return bench_.changes(); }
    void apply(Changes after, const QString& text, const QString& what);
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

    Workbench& bench_;
    std::shared_ptr<const Snapshot> shown_ = std::make_shared<Snapshot>();
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
