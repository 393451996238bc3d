#pragma once

#include "app/lab/panels/panel_context.h"

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
struct Cell;

/// Two runs side by side, A and B: the present one and the same model without changes, on another text, or another
/// model. Patterns of the selected head with their difference, a divergence for each head, and both next tokens.
class ComparePanel : public Panel {
    Q_OBJECT

public:
    explicit ComparePanel(PanelContext& context, QWidget* parent = nullptr);
    ~ComparePanel() override;

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool waitIdle(double seconds); ///< of B, for tests

private:
    enum With { Nothing, Unedited, OtherText, OtherModel };
    void choose();
    void follow(); ///< B goes where A is
    void postView();
    void wantPictures();
    /// Of A and B, such that they can be compared if at all.
    std::pair<std::shared_ptr<const PatternTile>, std::shared_ptr<const PatternTile>> tiles() const;
    /// Which token of B stands for which of A.
    void align();
    void showMaps();
    void showHeads();
    void showNext();
    std::optional<Cell> partnerOf(const Cell& cell) const; ///< in B, of a cell of A
    void link(const std::optional<Cell>& cell);
    QString alignedText() const; ///< how many tokens are compared; empty: all

    PanelContext& context_;
    std::shared_ptr<const Snapshot> first_, second_;
    std::unique_ptr<SessionBridge> bridge_; ///< of B, made when it is first wanted
    QComboBox* with_;
    QLineEdit *text_, *path_;
    QPushButton* compare_;
    QLabel* message_;
    QSplitter* maps_;
    MatrixView *a_, *b_, *difference_;
    QTreeWidget *heads_, *next_;
    std::pair<std::shared_ptr<const Sequence>, std::shared_ptr<const Sequence>> aligned_;
    std::vector<int> partners_; ///< by A's tokens: of B, -1 for those without
    int layer_ = 0, head_ = 0;
    std::string openPath_; ///< in B
    FrontWatch* front_ = nullptr;
    uint64_t followed_ = 0;
    std::optional<SetViewCommand> posted_; ///< to B
};

} // namespace attn
