#pragma once

#include <QLabel>

namespace attn {

/// @return a label for an explanation, in the theme's faint type
inline QLabel* makeHintLabel(const char* name = "") {
    auto* label = new QLabel;
    label->setObjectName(QString::fromLatin1(name));
    label->setProperty("hint", true);
    label->setWordWrap(true);
    return label;
}

} // namespace attn
