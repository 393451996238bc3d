#pragma once

#include "app/figures/matrix_figure.h"
#include "engine/analysis/head_kinds.h"
#include "engine/analysis/head_measures.h"

#include <QWidget>

#include <memory>
#include <optional>
#include <span>
#include <vector>

class QComboBox;

namespace attn {

class MatrixView;
struct ModelInfo;

/// A map of all heads, a row for each layer, coloured by a score that the user chooses: that of a kind, or a measure of
/// the present input.
class HeadMap : public QWidget {
    Q_OBJECT

public:
    /// @param name the start of the names of its widgets
    explicit HeadMap(const QString& name, QWidget* parent = nullptr);

    /// The results of a run, and those of the original run, which are subtracted. Null: none.
    struct Results {
        std::shared_ptr<const HeadDetection> kinds, kindsBefore;
        std::shared_ptr<const HeadMeasures> measures, measuresBefore;
        bool operator==(const Results&) const = default;
    };
    /// @param model that has the heads
    void setResults(const Results& results, std::shared_ptr<const ModelInfo> model);
    void setSelected(int site, int head);

    bool showsMeasure() const; ///< whether the chosen score is a measure of the present input
    QString meaning() const;   ///< of the chosen score, in a sentence; empty: there is no score
    MatrixView& view() { return *view_; }
    const MatrixFigure& figure() const;

signals:
    void headChosen(int site, int head);
    void scoreChosen();

private:
    void listScores();
    void draw();
    /// The chosen score of each head, by site and head; NaN: there is no such head, or no score.
    std::vector<float> values(const HeadDetection* kinds, const HeadMeasures* measures, int sites, int heads) const;

    Results results_;
    std::shared_ptr<const ModelInfo> model_;
    std::shared_ptr<const HeadDetection> listed_; ///< whose scores are listed
    std::span<const HeadKind> kinds_;             ///< of it
    QComboBox* score_;
    QString chosen_; ///< the score that the user has chosen; empty: the first
    MatrixView* view_;
};

} // namespace attn
