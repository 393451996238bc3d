#pragma once

#include "app/lab/workbench/second_run.h"

#include <array>

namespace attn {

class MatrixView;
class PatchOverlayView;
struct Figure;
struct MatrixCell;

/// How two runs on one kind of input are drawn beside each other: views of A, of B and of A − B, and what differs by
/// head.
class RunMaps : public QObject {
    Q_OBJECT

public:
    enum Map { First, Second, Difference };
    static constexpr Map kMaps[] = {First, Second, Difference};
    static QString titleOf(Map map);
    /// The divergence of each head, (site, head) first; empty: the heads cannot be compared.
    using Divergences = std::vector<std::pair<std::pair<int, int>, double>>;
    using Parts = std::array<std::shared_ptr<const void>, 4>;

    RunMaps(Workbench& bench, const SecondRun& second, QObject* parent)
        : QObject(parent), bench_(bench), second_(second) {}

    virtual void setFirst(const std::shared_ptr<const Snapshot>& first) { first_ = first; }
    virtual QWidget* view(Map map) const = 0;
    virtual const Figure& figure(Map map) const = 0;
    /// Finds for each row of A the matching row of B. A may be missing.
    virtual void align() {}
    /// Draws both runs, or nothing.
    virtual void show(bool isOn) = 0;
    virtual bool hasNoDifference() const = 0;     ///< and does not wait for one
    virtual bool hasHead() const { return true; } ///< the maps are those of the selected head

    // Of two runs that can be compared.

    virtual Divergences divergences() const = 0;
    virtual Parts compared() const = 0;                ///< what divergences() reads
    virtual bool hasSameInput() const = 0;             ///< A and B read the same
    virtual QString alignedText() const { return {}; } ///< how many rows are aligned and differ; empty: all, and none
    virtual QString reading() const { return {}; }     ///< the numbers of the cell under the pointer; empty: none

signals:
    void pointed(); ///< reading() changed
    void activated(attn::RunMaps::Map map);

protected:
    Workbench& bench_;
    const SecondRun& second_;
    std::shared_ptr<const Snapshot> first_;
};

/// Of two texts: patterns as matrices, whose rows and columns are matched by token.
class MatrixMaps : public RunMaps {
    Q_OBJECT

public:
    MatrixMaps(Workbench& bench, const SecondRun& second, QObject* parent);
    QWidget* view(Map map) const override;
    const Figure& figure(Map map) const override;
    void align() override;
    void show(bool isOn) override;
    bool hasNoDifference() const override;
    Divergences divergences() const override;
    Parts compared() const override;
    bool hasSameInput() const override;
    QString alignedText() const override;
    QString reading() const override;

private:
    using Tile = std::shared_ptr<const PatternTile>;
    MatrixView* make(const char* id, Map map);
    /// Patterns of the selected head in A and B, at the same resolution where possible. Null: not available.
    std::pair<Tile, Tile> tiles() const;
    /// The partners of the rows along the axis of a site's queries, or of its keys. Empty: the patterns do not have a
    /// row for each token.
    std::vector<int> partnersOf(int site, int Site::*stream, int rowsOfA, int rowsOfB) const;
    std::optional<MatrixCell> partnerOf(const MatrixCell& cell) const; ///< the cell of B that matches a cell of A
    void link(const std::optional<MatrixCell>& cell);

    MatrixView *a_, *b_, *difference_;
    std::pair<std::shared_ptr<const Sequence>, std::shared_ptr<const Sequence>> aligned_;
    std::vector<int> partners_;                           ///< [tokens of A] matching token of B; -1: none
    std::vector<int> sourcePartners_;                     ///< [tokens of A's source] matching token of B's
    std::vector<int> partnersOfRows_, partnersOfColumns_; ///< of the maps on display
};

/// Of two pictures: attention over them.
class OverlayMaps : public RunMaps {
    Q_OBJECT

public:
    OverlayMaps(Workbench& bench, const SecondRun& second, QObject* parent);
    QWidget* view(Map map) const override;
    const Figure& figure(Map map) const override;
    void show(bool isOn) override;
    bool hasNoDifference() const override;
    bool hasHead() const override;
    Divergences divergences() const override;
    Parts compared() const override;
    bool hasSameInput() const override;

private:
    PatchOverlayView* make(const char* id, Map map);

    PatchOverlayView *a_, *b_, *difference_;
    bool isOn_ = false;
};

} // namespace attn
