#pragma once

#include "app/lab/workbench/panel.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSplitter;
class QTreeWidget;

namespace attn {

class FrontWatch;
class MatrixView;
class SessionBridge;
struct MatrixCell;

/// Compares the current run, A, with a second run, B: the same model without changes, the same model on another text,
/// or another model. Shows both patterns of the selected head, their difference, a divergence for each head, and the
/// next tokens of both.
class ComparePanel : public Panel {
    Q_OBJECT

public:
    explicit ComparePanel(Workbench& bench, QWidget* parent = nullptr);
    ~ComparePanel() override;

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;
    bool waitIdle(double seconds); ///< waits until B is idle, for tests

private:
    enum With { Nothing, Unedited, OtherText, OtherModel };
    void choose();
    void follow(); ///< runs B on the sequence of A
    void postView();
    void wantPatterns();
    /// Patterns of the selected head in A and B, at the same resolution where possible. Null: not available.
    std::pair<std::shared_ptr<const PatternTile>, std::shared_ptr<const PatternTile>> tiles() const;
    /// Finds for each token of A the matching token of B.
    void align();
    void showMaps();
    void showHeads();
    void showNext();
    std::optional<MatrixCell> partnerOf(const MatrixCell& cell) const; ///< the cell of B that matches a cell of A
    void link(const std::optional<MatrixCell>& cell);
    QString alignedText() const; ///< how many tokens match; empty: all of them

    Workbench& bench_;
    std::shared_ptr<const Snapshot> first_, second_;
    std::unique_ptr<SessionBridge> bridge_; ///< the session of B, created when it is first needed
    QComboBox* with_;
    QLineEdit *text_, *path_;
    QPushButton* compare_;
    QLabel* message_;
    QSplitter* maps_;
    MatrixView *a_, *b_, *difference_;
    QTreeWidget *heads_, *next_;
    std::pair<std::shared_ptr<const Sequence>, std::shared_ptr<const Sequence>> aligned_;
    std::vector<int> partners_; ///< [tokens of A] matching token of B; -1: none
    std::string openPath_;      ///< model that is open in B
    FrontWatch* front_ = nullptr;
    uint64_t followed_ = 0;
    std::optional<PatternRequest> posted_; ///< last view command sent to B
};

} // namespace attn
