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

#include <algorithm>
#include <map>
#include <utility>

namespace attn {
namespace {

QString nameOf(SamplingFilter filter) {
    return filter == SamplingFilter::TopK   ? QCoreApplication::translate("attn::CandidateModel", "top-k")
           : filter == SamplingFilter::TopP ? QCoreApplication::translate("attn::CandidateModel", "top-p")
           : filter == SamplingFilter::MinP ? QCoreApplication::translate("attn::CandidateModel", "min-p")
                                            : QString();
}

QString changeText(float change) {
    return QCoreApplication::translate("attn::CandidateModel", "%1 %")
        .arg(formatSigned(100.0 * static_cast<double>(change), 1));
}

} // namespace

void CandidateModel::rank(const Snapshot& snapshot, const Sampling& sampling, const NextToken* earlier) {
    // A model with both readouts predicts a hidden word if there is one.
    const bool saysClass = snapshot.classes && !predictedWord(snapshot);
    const TextReadout readout = saysClass                                     ? snapshot.classes->readout
                                : snapshot.model && snapshot.model->maskToken ? TextReadout::MaskedToken
                                                                              : TextReadout::NextToken;
    const ClassActivation activation = saysClass ? snapshot.classes->activation : ClassActivation::Softmax;
    const bool isOther = readout != std::exchange(readout_, readout);
    if (activation != std::exchange(activation_, activation) || isOther)
        emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    showsChange_ = false;
    std::vector<Row> rows =
        saysClass ? classRows(snapshot, earlier != nullptr) : tokenRows(snapshot, sampling, earlier);
    const int before = static_cast<int>(rows_.size()), after = static_cast<int>(rows.size());
    if (after > before) beginInsertRows({}, before, after - 1);
    if (after < before) beginRemoveRows({}, after, before - 1);
    rows_ = std::move(rows);
    if (after > before) endInsertRows();
    if (after < before) endRemoveRows();
    if (after > 0) emit dataChanged(index(0, 0), index(after - 1, ColumnCount - 1));
}

CandidateModel::Row CandidateModel::rowOf(const Candidate& candidate, const QString& text, float change) const {
    const QString filter = nameOf(candidate.filter);
    return {candidate, text,
            filter.isEmpty() ? formatSaid(static_cast<double>(candidate.probability), activation_)
                             : tr("cut by %1").arg(filter),
            formatNumber(static_cast<double>(candidate.logit), 2), change};
}

std::vector<CandidateModel::Row> CandidateModel::tokenRows(const Snapshot& snapshot, const Sampling& sampling,
                                                           const NextToken* earlier) {
    std::vector<Row> rows;
    if ((readout_ == TextReadout::MaskedToken && !predictedWord(snapshot)) || !snapshot.next ||
        snapshot.next->logits.empty())
        return rows;
    try {
        const auto candidates =
            rankCandidates(snapshot.next->logits, sampling, snapshot.next->recentTokens, kLimit, snapshot.next->limits);
        std::map<int, float> probabilities; // in the original run
        if (earlier && earlier->logits.size() == snapshot.next->logits.size()) {
            for (const Candidate& each :
                 rankCandidates(earlier->logits, sampling, earlier->recentTokens, -1, snapshot.next->limits))
                probabilities[each.token] = each.probability;
            showsChange_ = true;
        }
        for (const Candidate& candidate : candidates)
            rows.push_back(rowOf(candidate, tokenText(snapshot, candidate.token),
                                 showsChange_ ? candidate.probability - probabilities[candidate.token] : 0.0f));
        if (!snapshot.next->limits.empty()) showBarred(rows, snapshot, sampling);
    } catch (const Error&) {
        // The logits rank no tokens. The session reports this as a failure, so the list is empty.
    }
    return rows;
}

void CandidateModel::showBarred(std::vector<Row>& rows, const Snapshot& snapshot, const Sampling& sampling) const {
    const auto& [logits, seen, last, limits] = *snapshot.next;
    std::erase_if(rows, [&, &limits = limits](const Row& row) { return !limits.allows(row.candidate.token); });
    const std::vector<Candidate> free = rankCandidates(logits, sampling, seen, kLimit);
    for (size_t rank = 0; rank < free.size(); ++rank) {
        if (limits.allows(free[rank].token)) continue;
        Row row =
            rowOf({.token = free[rank].token, .logit = free[rank].logit}, tokenText(snapshot, free[rank].token), 0);
        const auto field = shownText(limits.fieldAgainst(free[rank].token));
        row.barred = tr("%1 of %2").arg(field, snapshot.model ? shownText(snapshot.model->rules.file) : QString());
        row.unbarred = formatSaid(static_cast<double>(free[rank].probability), activation_);
        const size_t at = std::min(rank + limits.only.size(), rows.size()); // a token that must come stands first
        rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at), std::move(row));
    }
    rows.resize(std::min(rows.size(), static_cast<size_t>(kLimit)));
}

std::vector<CandidateModel::Row> CandidateModel::classRows(const Snapshot& snapshot, bool isCompared) {
    std::vector<Row> rows;
    const TextClasses& classes = *snapshot.classes;
    const GrowingList<TokenInfo>& tokens = snapshot.sequence->tokens;
    const TextClasses* before = isCompared ? snapshot.originalClasses.get() : nullptr;
    showsChange_ = before && before->logits.size() == classes.logits.size();
    constexpr int kAll = 1 << 20;
    const std::vector<ClassAnswer> earlier = showsChange_ ? classAnswers(*before, kAll) : std::vector<ClassAnswer>();
    const auto changeOf = [&](const ClassAnswer& answer) {
        const auto same = std::ranges::find_if(earlier, [&](const ClassAnswer& each) {
            return each.label == answer.label && each.begin == answer.begin && each.end == answer.end;
        });
        return same == earlier.end() ? std::nanf("") : answer.probability - same->probability;
    };
    for (const ClassAnswer& answer : classAnswers(classes, kLimit)) {
        QString text = shownText(classes.labels[static_cast<size_t>(answer.label)]);
        if (!readsOneRow(readout_)) {
            const auto begin = static_cast<size_t>(answer.begin), end = static_cast<size_t>(answer.end);
            if (end > tokens.size()) continue;
            const bool isSpan = readout_ == TextReadout::Span; // otherwise only the first token of a word has a class
            if (!isSpan && (tokens[begin].isSpecial || (begin > 0 && tokens[begin].word == tokens[begin - 1].word)))
                continue;
            std::string written;
            for (size_t at = begin; at < end; ++at) written += tokens[at].written;
            const QString words = QString::fromStdString(written).trimmed();
            text = isSpan ? words : QStringLiteral("%1: %2").arg(words, text);
        }
        rows.push_back(rowOf({.token = answer.label, .logit = answer.logit, .probability = answer.probability}, text,
                             changeOf(answer)));
    }
    return rows;
}

int CandidateModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int CandidateModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant CandidateModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const auto& [candidate, text, percent, logit, change, barred, unbarred] = rows_[static_cast<size_t>(index.row())];
    const bool isFiltered = listsTokens() && candidate.probability <= 0;
    switch (role) {
    case TokenRole:
        return candidate.token;
    case ProbabilityRole:
        return activation_ == ClassActivation::None ? 0 : static_cast<double>(candidate.probability); // no bar
    case Qt::DisplayRole:
        return index.column() == TokenColumn          ? (listsTokens() ? visibleText(text) : text)
               : index.column() == ProbabilityColumn  ? (!barred.isEmpty() ? tr("%1, barred").arg(unbarred) : percent)
               : index.column() == LogitColumn        ? logit
               : !showsChange_ || std::isnan(change)  ? QString()
               : activation_ == ClassActivation::None ? formatSigned(static_cast<double>(change), 4)
                                                      : changeText(change);
    case Qt::TextAlignmentRole:
        return static_cast<int>((index.column() == TokenColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ForegroundRole:
        if (isFiltered) return QGuiApplication::palette().brush(QPalette::Disabled, QPalette::Text);
        return {};
    case Qt::ToolTipRole:
        if (activation_ == ClassActivation::None) return tr("%1: %2").arg(text, percent);
        if (!listsTokens()) return tr("%1, probability %2, logit %3").arg(text, percent, logit);
        if (!barred.isEmpty())
            return tr("Token %1, logit %2: %3 bars it here. Without that, its probability would be %4. Click to add it "
                      "anyway.")
                .arg(QString::number(candidate.token), logit, barred, unbarred);
        return isFiltered
                   ? tr("Token %1, logit %2: left out by %3. Click to add it anyway.")
                         .arg(QString::number(candidate.token), logit,
                              candidate.filter == SamplingFilter::None ? tr("the sampling") : nameOf(candidate.filter))
                   : tr("Token %1, probability %2, logit %3. %4 %5")
                         .arg(candidate.token)
                         .arg(percent, logit,
                              readout_ == TextReadout::MaskedToken ? tr("Click to fill it in.")
                                                                   : tr("Click to add it."),
                              tokenRemark(visibleText(text)))
                         .trimmed();
    case Qt::AccessibleTextRole:
        if (activation_ == ClassActivation::None) return tr("%1: %2").arg(text, percent);
        if (!barred.isEmpty()) return tr("%1, barred by %2; its probability would be %3").arg(text, barred, unbarred);
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
        switch (readout_) {
        case TextReadout::MaskedToken:
            return isHelp ? tr("A word that fits here; the most probable is first") : tr("Hidden word");
        case TextReadout::TextClass:
        case TextReadout::NextSentence:
            if (activation_ == ClassActivation::None)
                return isHelp ? tr("A quantity that the model estimates; the largest is first") : tr("Quantity");
            return isHelp ? tr("A class that the text may have; the most probable is first") : tr("Class");
        case TextReadout::TokenClass:
            return isHelp ? tr("Each word of the text with its most probable class") : tr("Word and class");
        case TextReadout::Span:
            return isHelp ? tr("A piece of the second text that may be the answer; the most probable is first")
                          : tr("Answer");
        default:
            return isHelp ? tr("A token that may come next; the most probable is first") : tr("Next token");
        }
    case ProbabilityColumn:
        if (activation_ == ClassActivation::None)
            return isHelp ? tr("The number that the model answers; it is a regression, not a probability")
                          : tr("Answer");
        if (!isHelp) return tr("Probability");
        if (activation_ == ClassActivation::Sigmoid)
            return tr("How likely it is that this label applies. Each label has a probability of its own, so they need "
                      "not sum to 100 %");
        return listsTokens() ? tr("How likely it is to be chosen, with the present temperature and limits")
                             : tr("How likely it is, as the model says");
    case LogitColumn:
        return isHelp ? tr("The model's score before it becomes a probability; only differences of logits matter")
                      : tr("Logit");
    default:
        if (activation_ == ClassActivation::None)
            return isHelp ? tr("Changed run minus original run") : tr("Difference");
        return isHelp ? tr("Changed run minus original run, in percentage points") : tr("Difference");
    }
}

} // namespace attn
