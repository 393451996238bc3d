#include "app/lab/workbench/input_kind.h"

#include "app/figures/token_label.h"

#include <QCoreApplication>
#include <QWidget>

#include <algorithm>
#include <stdexcept>

namespace attn {

const InputKind& textInput();    // text_input.cpp
const InputKind& pictureInput(); // picture_input.cpp

const InputKind& inputKind(AxisKind axis) {
    switch (axis) { // the compiler warns of a kind that is missing; one that is drawn as a text is a textInput()
    case AxisKind::Tokens:
        return textInput();
    case AxisKind::Patches:
        return pictureInput();
    }
    throw std::logic_error("an axis of no kind");
}

const InputKind& inputKind(const Snapshot& snapshot) {
    return inputKind(snapshot.model ? snapshot.model->inputAxis() : AxisKind::Tokens);
}

QString InputKind::say(const char* InputWords::*words) const {
    return QCoreApplication::translate("attn::Input", words_.*words);
}

void InputKind::keepView(QJsonObject& view, const QJsonObject& page) const {
    if (!*key_)
        view = page;
    else if (!page.isEmpty())
        view[QLatin1String(key_)] = page;
}

QJsonObject InputKind::viewIn(const QJsonObject& view) const {
    return *key_ ? view[QLatin1String(key_)].toObject() : view;
}

void showPages(std::initializer_list<std::pair<AxisKind, QWidget*>> pages, AxisKind axis, bool isWanted) {
    for (const auto& [of, widget] : pages) widget->setVisible(isWanted && of == axis);
}

bool canAnalyse(const Snapshot& snapshot) {
    return snapshot.answer || (snapshot.sequence && !snapshot.sequence->tokens.empty());
}

QString readoutToken(const Snapshot* snapshot) {
    const auto row = static_cast<size_t>(snapshot && snapshot->next ? std::max(0, snapshot->next->row) : 0);
    const size_t count = snapshot && snapshot->sequence ? snapshot->sequence->tokens.size() : 0;
    return row + 1 < count ? QStringLiteral("“%1”").arg(tokenLabel(snapshot->sequence->tokens[row]))
                           : QCoreApplication::translate("attn::Input", "the last token");
}

} // namespace attn
