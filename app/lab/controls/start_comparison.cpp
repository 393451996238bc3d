#include "app/lab/controls/start_comparison.h"

#include "app/figures/token_label.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/whole_rows.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/training/training_summary.h"

#include <QPushButton>
#include <QTreeWidget>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

constexpr std::array kMatrices{"W_Q", "W_K", "W_V", "W_O"};
constexpr size_t kMostSingular = 8; ///< singular values in a tool tip
constexpr int kMostRows = 8;        ///< rows that are visible at once

} // namespace

StartComparison::StartComparison(QWidget* parent) : QWidget(parent), text_(makeHintLabel("startChangesText")) {
    table_ = makePlainTable("startChanges", tr("Change of the attention's weight matrices by training"),
                            tr("Norm of the difference as a share of the norm before, and rank of the difference"),
                            {{tr("Attention"), tr("The attention of a layer, as in the figures")},
                             {kMatrices[0], tr("The matrix of queries")},
                             {kMatrices[1], tr("The matrix of keys")},
                             {kMatrices[2], tr("The matrix of values")},
                             {kMatrices[3], tr("The matrix of outputs")}});
    rows_ = new WholeRows(*table_, kMostRows);
    auto* compare = helped(new QPushButton(tr("Compare with the starting model")), "compareStart",
                           tr("Show the attention of this run beside that of the model from which it started"));
    makeColumn(this, 0, {text_, table_, makeRow({compare, room()})});
    connect(compare, &QPushButton::clicked, this, &StartComparison::comparisonRequested);
    hide();
}

void StartComparison::showRun(const RunListModel::Run* run, uint64_t checkpoints) {
    const bool hasStart = run && !run->recipe.start.model.empty();
    setVisible(hasStart);
    if (std::exchange(shown_, hasStart ? std::pair(run->folder, checkpoints) : std::pair(QString(), uint64_t{0})) ==
        shown_)
        return;
    if (!hasStart) return reading_.cancel();
    const std::string start = run->recipe.start.model, folder = run->folder.toStdString();
    text_->setText(tr("Weight matrices of attention, against %1: norm of the difference as a share of the norm before "
                      "· rank of the difference")
                       .arg(shownText(titleOfModel(start))));
    using Sites = std::vector<SiteChange>;
    reading_.start<Sites>(
        folder,
        [start, folder](const std::atomic<bool>& isStopped) {
            return weightChanges(start, folder, [&] { return !isStopped; });
        },
        [this](const std::variant<Sites, Failure>& found) {
            if (const auto* changes = std::get_if<Sites>(&found)) return show(*changes);
            table_->clear();
            text_->setText(shownText(std::get<Failure>(found).sentence()));
        });
}

void StartComparison::show(const std::vector<SiteChange>& changes) {
    table_->clear();
    rows_->setRows(std::min(kMostRows, static_cast<int>(changes.size())));
    for (const SiteChange& site : changes) {
        QStringList texts{QString::fromStdString(site.label)};
        std::vector<std::pair<int, QString>> tips;
        for (const char* name : kMatrices) {
            const auto matrix = std::ranges::find(site.matrices, name, &MatrixChange::name);
            texts << QString();
            if (matrix == site.matrices.end()) continue;
            texts.back() = tr("%1 % · %2").arg(matrix->norm * 100, 0, 'f', 1).arg(matrix->rank());
            QStringList values;
            for (size_t i = 0; i < std::min(kMostSingular, matrix->singular.size()); ++i)
                values << QString::number(matrix->singular[i] * 100, 'g', 2);
            tips.emplace_back(static_cast<int>(texts.size()) - 1,
                              tr("Largest singular values of the difference, in per cent of the norm before: %1")
                                  .arg(values.join(", ")));
        }
        QTreeWidgetItem* row = addPlainRow(table_, texts);
        for (const auto& [column, tip] : tips) row->setToolTip(column, tip);
    }
}

} // namespace attn
