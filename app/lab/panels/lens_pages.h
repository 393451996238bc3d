#pragma once

#include "app/figures/lines_figure.h"
#include "app/figures/matrix_figure.h"
#include "engine/analysis/whole_run.h"
#include "engine/session/analysis.h"
#include "engine/session/edits.h"
#include "engine/session/snapshot.h"

#include <QStringList>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// What a lens is asked with: what the form says, as far as the lens uses it.
struct LensQuestion {
    int layer = 0, head = 0;
    int position = -1; ///< -1: the last token
    LogitTarget target;
    std::string text; ///< of patching
    bool operator==(const LensQuestion&) const = default;
};

/// How an answer is drawn: as a matrix, as bars, or as a table, each of which may be empty.
struct LensAnswer {
    QString summary;
    MatrixFigure matrix;
    LinesFigure bars;
    QStringList columns;
    std::vector<QStringList> rows;
    /// Of a matrix: what is said of a cell beyond its number; one for each, row-major. Empty: nothing.
    std::vector<QString> remarks;
};

/// One way of looking inside a run. A new lens is one entry of the catalogue.
struct LensPage {
    const char* id;
    const char* title;       ///< to be translated in the context "attn::Lens"
    const char* explanation; ///< likewise
    bool usesHead = false, usesPosition = false, usesTarget = false, usesText = false;
    bool isQuick = true; ///< runs by itself when the text changes
    std::shared_ptr<const Analysis> (*make)(const LensQuestion& question);
    LensAnswer (*show)(const AnalysisResult& result, const Snapshot& snapshot);
    /// What a double click on a cell of the matrix changes about the model; null: nothing.
    Intervention (*change)(const AnalysisResult& result, const LensQuestion& question, int row, int column) = nullptr;
};
std::span<const LensPage> lensPages();

} // namespace attn
