#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/second_run.h"

#include <array>

class QBoxLayout;
class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace attn {

class EmptyState;
class FrontWatch;
class MatrixView;
class ModelBox;
class OtherPictureBox;
class PatchOverlayView;
struct MatrixCell;

/// Compares the current run, A, with a second run, B. Shows both patterns of the selected head, or both overlays, and
/// their difference, one of them large; a divergence for each head, and the next tokens or classes of both.
class ComparePanel : public Panel {
    Q_OBJECT

public:
    explicit ComparePanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;
    std::optional<std::pair<int, int>> exportedHead() const override;
    std::shared_ptr<const Snapshot> comparedRun() const override;
    SecondRun& second() { return second_; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    /// Views of A, B and A - B: `matrix` of a text, `overlay` of a picture.
    struct Map {
        MatrixView* matrix;
        PatchOverlayView* overlay;
        QString help;
    };
    using Tile = std::shared_ptr<const PatternTile>;

    QLayout* makeChoice();
    QWidget* makeEmpty();
    void makeMaps();
    void makeTables();
    QWidget* makeBody();
    std::array<Map*, 3> maps() { return {&a_, &b_, &difference_}; }
    void enlarge(Map& map);
    void stand(bool isBeside); ///< puts the tables beside the large map, or below it
    void arrange();            ///< the large map and the small ones
    void choose();
    void want(); ///< the views of both runs
    void show();
    void showControls();
    void showMatrices(bool isOn);
    void showOverlays(bool isOn);
    void showHeads(bool isOn);
    /// Patterns of the selected head in A and B, at the same resolution where possible. Null: not available.
    std::pair<Tile, Tile> tiles() const;
    /// Finds for each token of A the matching token of B.
    void align();
    /// The divergence of each head, (site, head) first; empty: the heads cannot be compared.
    using Divergences = std::vector<std::pair<std::pair<int, int>, double>>;
    Divergences divergences() const;
    std::optional<MatrixCell> partnerOf(const MatrixCell& cell) const; ///< the cell of B that matches a cell of A
    void link(const std::optional<MatrixCell>& cell);
    bool isSame() const;                        ///< whether nothing makes B differ from A
    QString alignedText() const;                ///< how many tokens are aligned and differ; empty: all, and none
    QString runName(const Snapshot& run) const; ///< its model, or its text where that is what differs
    QString reading() const;                    ///< the numbers of the cell under the pointer; empty: none
    void say();                                 ///< the reading, or else the caption

    SecondRun second_;
    std::shared_ptr<const Snapshot> first_;
    QComboBox* with_;
    QLineEdit* text_;
    ModelBox* path_;
    OtherPictureBox* picture_;
    QPushButton *browse_, *compare_;
    QLabel* message_;
    QString caption_; ///< of both runs, or why they cannot be compared
    EmptyState* empty_ = nullptr;
    QWidget* body_; ///< the maps and the tables
    Map a_, b_, difference_;
    Map* large_ = &difference_; ///< the map that the user chose to see large
    QGridLayout* places_;
    QBoxLayout *largePlace_, *smallPlace_, *tables_;
    std::optional<bool> tablesStandBeside_; ///< the large map, or below it
    QTreeWidget *heads_, *answers_;
    std::pair<std::shared_ptr<const Sequence>, std::shared_ptr<const Sequence>> aligned_;
    std::vector<int> partners_;                           ///< [tokens of A] matching token of B; -1: none
    std::vector<int> sourcePartners_;                     ///< [tokens of A's source] matching token of B's
    std::vector<int> partnersOfRows_, partnersOfColumns_; ///< of the maps on display
    /// Those of the rows along the axis of a site's queries, or of its keys. Empty: the patterns do not have a row for
    /// each token.
    std::vector<int> partnersOf(int site, int Site::*stream, int rowsOfA, int rowsOfB) const;
    Divergences byHead_;
    std::array<std::shared_ptr<const void>, 4> counted_; ///< the patterns and the tokens that byHead_ belongs to
    FrontWatch* front_ = nullptr;
};

} // namespace attn
