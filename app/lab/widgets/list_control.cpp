#include "app/lab/widgets/list_control.h"

#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/spec_line.h"
#include "app/lab/widgets/widget_makers.h"

#include <QCoreApplication>
#include <QLineEdit>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <optional>

namespace attn {
namespace {

QStringList wordsOf(const QString& text) {
    static const QRegularExpression kSeparator(QStringLiteral("[\\s,]+"));
    return text.split(kSeparator, Qt::SkipEmptyParts);
}

/// The numbers of a line; none if a word is not a number that the list can hold.
std::optional<std::vector<double>> listOf(const QString& text, const Param& param) {
    std::vector<double> list;
    for (const QString& word : wordsOf(text)) {
        bool isNumber = false;
        const double value = word.toDouble(&isNumber);
        const bool isWhole = param.kind == Param::Kind::Real || value == std::floor(value);
        if (!isNumber || !isWhole || value < param.minimum || value > param.maximum) return {};
        list.push_back(value);
    }
    return list.empty() ? std::nullopt : std::optional(std::move(list));
}

} // namespace

ListControl::ListControl(const Param& param, QWidget* parent) : QWidget(parent), param_(param) {
    const auto translated = [](std::string_view text) {
        return QCoreApplication::translate("attn::Param", std::string(text).c_str());
    };
    line_ = named(new QLineEdit, "list." + fromEngine(param.id), translated(param.title), translated(param.help));
    error_ = makeHintLabel("listError");
    makeColumn(this, 0, {makeRow({labelFor(line_, translated(param.title)), {line_, 1}}), error_});
    connect(line_, &QLineEdit::textEdited, this, &ListControl::read);
}

void ListControl::setList(std::span<const double> list) {
    const auto shown = listOf(line_->text(), param_);
    if (shown && std::ranges::equal(*shown, list)) return;
    QStringList words;
    for (const double value : list) words += QString::number(value);
    line_->setText(words.join(' '));
    showSentence(error_, {});
}

void ListControl::read() {
    const auto list = listOf(line_->text(), param_);
    showSentence(error_, list ? QString()
                              : tr("Write whole numbers from %1 to %2 with blanks between them, such as 2 0 2.")
                                    .arg(param_.minimum)
                                    .arg(param_.maximum));
    if (list) emit listChanged(*list);
}

} // namespace attn
