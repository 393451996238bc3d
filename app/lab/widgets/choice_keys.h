#pragma once

#include <QComboBox>
#include <QJsonValue>
#include <QLatin1String>

#include <algorithm>
#include <span>

namespace attn {

/// Makes a combo box as wide as this many characters, whatever its items are.
inline void setLeastCharacters(QComboBox& box, int count) {
    box.setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box.setMinimumContentsLength(count);
}

/// Sets each item's data to the key under which files store the item, so that items may be renamed, moved and
/// translated.
inline void setChoiceKeys(QComboBox& box, std::span<const char* const> keys) {
    for (int item = 0; item < box.count(); ++item)
        box.setItemData(item, QString(QLatin1String(keys[static_cast<size_t>(item)])));
}

/// The key of the chosen item, to store in a file.
inline QJsonValue savedChoice(const QComboBox& box) { return box.currentData().toString(); }

/// Chooses the item with a stored key. Does nothing for an unknown key.
/// @param numbered keys in the order of the item numbers that older files store
inline void restoreChoice(QComboBox& box, const QJsonValue& saved, std::span<const char* const> numbered) {
    const auto last = static_cast<int>(numbered.size()) - 1;
    const QString key = saved.isString()
                            ? saved.toString()
                            : QString(QLatin1String(numbered[static_cast<size_t>(std::clamp(saved.toInt(), 0, last))]));
    if (const int item = box.findData(key); item >= 0) box.setCurrentIndex(item);
}

} // namespace attn
