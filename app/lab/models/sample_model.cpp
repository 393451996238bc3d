#include "app/lab/models/sample_model.h"

#include "app/lab/bridge/token_text.h"

#include <algorithm>

namespace attn {
namespace {

QString joined(const std::vector<std::string>& tokens) {
    std::string text;
    for (const std::string& token : tokens) text += token;
    return QString::fromStdString(text).replace('\n', QChar(0x21B5));
}

} // namespace

void SampleModel::setSamples(std::shared_ptr<const std::vector<SampleAnswer>> samples) {
    if (samples == samples_) return;
    beginResetModel();
    samples_ = std::move(samples);
    endResetModel();
}

int SampleModel::rightCount() const {
    return samples_ ? static_cast<int>(std::ranges::count_if(*samples_, &SampleAnswer::isRight)) : 0;
}

std::optional<double> SampleModel::meanError() const { return samples_ ? meanErrorOf(*samples_) : std::nullopt; }

int SampleModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !samples_ ? 0 : static_cast<int>(samples_->size());
}

int SampleModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant SampleModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const SampleAnswer& sample = (*samples_)[static_cast<size_t>(index.row())];
    const QString text = index.column() == PromptColumn     ? QString::fromStdString(sample.question.text)
                         : index.column() == ExpectedColumn ? joined(sample.expected)
                                                            : joined(sample.given);
    switch (role) {
    case Qt::DisplayRole:
        return text;
    case Qt::ToolTipRole:
        return text;
    case Qt::AccessibleTextRole:
        if (index.column() == GivenColumn && sample.error)
            return tr("%1, wrong by %2").arg(text, QString::number(*sample.error, 'g', 3));
        return index.column() == GivenColumn
                   ? (sample.isRight() ? tr("%1, right").arg(text) : tr("%1, wrong").arg(text))
                   : text;
    case TokensRole: {
        QStringList tokens;
        for (const std::string& token : sample.given)
            tokens << QString::fromStdString(token).replace('\n', QChar(0x21B5));
        return tokens;
    }
    case WrongRole: {
        QVariantList wrong;
        for (size_t i = 0; i < sample.given.size(); ++i)
            wrong << (!sample.error && sample.given[i] != sample.expected[i]);
        return wrong;
    }
    default:
        return {};
    }
}

QVariant SampleModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
    const bool isHelp = role == Qt::ToolTipRole;
    if (section == PromptColumn) return isHelp ? tr("The text that the model reads") : tr("Question");
    if (section == ExpectedColumn) return isHelp ? tr("What it should answer") : tr("Right answer");
    return isHelp ? tr("What the model answers; mistakes are marked") : tr("Model's answer");
}

} // namespace attn
