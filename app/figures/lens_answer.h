#pragma once

#include "app/figures/axis_display.h"
#include "app/figures/lines_figure.h"
#include "app/figures/matrix_figure.h"
#include "app/figures/patch_overlay_figure.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/inference/changes.h"

#include <QCoreApplication>
#include <QStringList>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// The result of a lens, ready to draw: numbers over a picture, a matrix, lines and a table. Each may be empty.
struct LensAnswer {
    QString summary;
    MatrixFigure matrix;
    LinesFigure bars;
    QStringList columns, columnHelp{}; ///< the titles of the table's columns, and a sentence about each
    std::vector<QStringList> rows;
    /// For a matrix: a remark on each cell, shown after its number, row-major. Empty: no remarks.
    std::vector<QString> remarks;
};

/// The figures of a lens from top to bottom.
struct LensFigure : Figure {
    LensAnswer answer;
    PatchOverlayFigure
        overlay; ///< the numbers of one row of the matrix, or of the lines; empty if they belong to no picture

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// The matrix, the lines or the table: the first that is not empty.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override;
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<LensFigure>(*this); }

private:
    std::vector<const Figure*> parts() const; ///< the parts that are not empty
};

/// @return the changed result minus the original one, for the cells, places and names in both. Summaries and remarks
/// that differ show both texts.
/// @param after of the changed run  @param before of the original run
LensAnswer changeOf(const LensAnswer& after, const LensAnswer& before);
/// The same for the numbers over a picture.
PatchOverlayFigure changeOf(const PatchOverlayFigure& after, const PatchOverlayFigure& before);

// Answers of lenses for both texts and pictures.

/// The subject of a lens's result: the model, the rows that it read and, for a picture, the layout of its layers. It
/// refers to results that others keep.
struct LensSubject {
    const ModelInfo& model;
    AxisDisplay axis;
    std::span<const SitePattern> patterns{};
    size_t sourceRows = 0; ///< number of rows that are tokens of a source, at the beginning of the axis

    bool isPicture() const { return axis.gridColumns > 0; }
    bool saysNumbers() const; ///< whether the model is a regression: its logits are its answers
    /// The name of a prediction: a token of the vocabulary, or a class.
    QString choiceName(int index) const;
    QString tokenName(int id) const; ///< the name of a token of the vocabulary
    /// The names of the first rows of the axis. If `count` is the number of patches, the names of the patches.
    std::vector<QString> rowNames(size_t count) const;
    /// The names of the rows of a stream: of the source or of the text.
    std::vector<QString> namesAlong(int stream, size_t count) const;
};

/// Translates the texts of lenses.
struct LensText {
    Q_DECLARE_TR_FUNCTIONS(attn::Lens)
};

/// @return "logit of “cat” minus that of “dog”"; of a regression, "answer for “price”"
QString targetName(const LensSubject& subject, const LogitTarget& target);
/// formatNumber() of a float
QString formatFixed(float value, int digits = 3);

/// Shows what each part adds to a logit, as bars and as a table sorted by size.
/// @param target name of the logit: "logit of “cat”"
LensAnswer contributionsAnswer(std::span<const LogitAttribution::Component> components, const QString& target);
/// Shows the effect of removing each head and each MLP, as a matrix [sites, heads (+ MLP)].
/// @param target name of the logit
LensAnswer effectsAnswer(const HeadEffects& effects, const ModelStructure& structure, const QString& target);
/// The change for a cell of effectsAnswer(): removing the head or the MLP.
ValueChange removalOf(const HeadEffects& effects, const ModelStructure& structure, int site, int column);
/// Shows, as a matrix [blocks, tokens], which fraction of the gap between two runs closes when one value is patched.
/// @param source name of the run from which values are copied: "the other text"
/// @param tokens names of the columns
LensAnswer patchingAnswer(const PatchEffects& effects, const ModelStructure& structure, const QString& target,
                          const QString& source, std::vector<QString> tokens);
/// Shows which share of the gap each head closes, as a matrix [sites, heads].
LensAnswer headPatchingAnswer(const HeadPatchEffects& effects, const ModelStructure& structure, const QString& target,
                              const QString& source);
/// The change for a cell of headPatchingAnswer(): patching one head at all tokens.
ValueChange patchOf(const ModelStructure& structure, int site, int head, const std::string& source);
/// The change for a cell of patchingAnswer(): patching one block at one token.
/// @param row of the matrix  @param position token of that block's stream
/// @param source text whose run gives the value
ValueChange patchOf(const PatchEffects& effects, const ModelStructure& structure, int row, int position,
                    const std::string& source);

} // namespace attn
