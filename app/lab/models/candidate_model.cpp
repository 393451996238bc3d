#include "app/lab/models/candidate_model.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "engine/core/error.h"

#include <QBrush>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QPalette>

#include <map>
#include <utility>

namespace attn {
namespace {

QString changeText(float change) {
    return QCoreApplication::translate("attn::CandidateModel", "%1 %")
        .arg(formatSigned(100.0 * static_cast<double>(change), 1));
}

} // namespace

void CandidateModel::rank(const Snapshot& snapshot, const Sampling& sampling, const NextToken* earlier) {
    std::vector<Candidate> candidates;
    std::map<int, float> probabilities; // before
    showsChange_ = false;
    const bool isFilling = snapshot.model && snapshot.model->maskToken;
    if (isFilling != std::exchange(isFilling_, isFilling)) emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    if ((!isFilling || predictedWord(snapshot)) && snapshot.next && !snapshot.next->logits.empty()) {
        try {
            candidates = rankCandidates(snapshot.next->logits, sampling, snapshot.next->recentTokens, kLimit);
            if (earlier && earlier->logits.size() == snapshot.next->logits.size()) {
                for (const Candidate& each : rankCandidates(earlier->logits, sampling, earlier->recentTokens, -1))
                    probabilities[each.token] = each.probability;
                showsChange_ = true;
            }
        } catch (const Error&) {
            // All-NaN logits: the session reports them as its failure; here there is nothing to list.
        }
    }
    const int before = static_cast<int>(rows_.size()), after = static_cast<int>(candidates.size());
    if (after > before) beginInsertRows({}, before, after - 1);
    if (after < before) beginRemoveRows({}, after, before - 1);
    rows_.clear();
    for (const Candidate& candidate : candidates)
        rows_.push_back({candidate, tokenText(snapshot, candidate.token),
                         formatPercent(static_cast<double>(candidate.probability)),
                         formatNumber(static_cast<double>(candidate.logit), 2),
                         showsChange_ ? candidate.probability - probabilities[candidate.token] : 0.0f});
    if (after > before) endInsertRows();
    if (after < before) endRemoveRows();
    if (after > 0) emit dataChanged(index(0, 0), index(after - 1, ColumnCount - 1));
}

int CandidateModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int CandidateModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant CandidateModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const auto& [candidate, text, percent, logit, change] = rows_[static_cast<size_t>(index.row())];
    const bool isFiltered = candidate.probability <= 0;
    switch (role) {
    case TokenRole:
        return candidate.token;
    case ProbabilityRole:
        return static_cast<double>(candidate.probability);
    case Qt::DisplayRole:
        return index.column() == TokenColumn         ? visibleText(text)
               : index.column() == ProbabilityColumn ? percent
               : index.column() == LogitColumn       ? logit
               : !showsChange_                       ? QString()
                                                     : changeText(change);
    case Qt::TextAlignmentRole:
        return static_cast<int>((index.column() == TokenColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ForegroundRole:
        if (isFiltered) return QGuiApplication::palette().brush(QPalette::Disabled, QPalette::Text);
        return {};
    case Qt::ToolTipRole:
        return isFiltered ? tr("Token %1, logit %2: excluded by the sampling. Click to add it anyway.")
                                .arg(candidate.token)
                                .arg(logit)
                          : tr("Token %1, probability %2, logit %3. %4 %5")
                                .arg(candidate.token)
                                .arg(percent, logit, isFilling_ ? tr("Click to fill it in.") : tr("Click to add it."),
                                     tokenRemark(visibleText(text)))
                                .trimmed();
    case Qt::AccessibleTextRole:
        return tr("%1, probability %2, logit %3").arg(text, percent, logit);
    default:
        return {};
    }
}

QVariant CandidateModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
    const bool isHelp = role == Qt::ToolTipRole;
    switch (section) {
    case TokenColumn:
        if (isHelp)
            return isFilling_ ? tr("A word that fits here; the likeliest is first")
                              : tr("A token that may come next; the likeliest is first");
        return isFilling_ ? tr("Hidden word") : tr("Next token");
    case ProbabilityColumn:
        return isHelp ? tr("How likely it is to be chosen, with the present temperature and limits")
                      : tr("Probability");
    case LogitColumn:
        return isHelp ? tr("The model's score before it becomes a probability; only differences of logits matter")
                      : tr("Logit");
    default:
        return isHelp ? tr("Changed run minus original run, in percentage points") : tr("Difference");
    }
}

} // namespace attn
