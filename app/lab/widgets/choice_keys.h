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

/// Gives each item of a combo box the key under which files keep it, as the item's data: items may then be renamed,
/// moved and translated.
inline void setChoiceKeys(QComboBox& box, std::span<const char* const> keys) {
    for (int item = 0; item < box.count(); ++item)
        box.setItemData(item, QString(QLatin1String(keys[static_cast<size_t>(item)])));
}

/// What a file keeps of a combo box.
inline QJsonValue savedChoice(const QComboBox& box) { return box.currentData().toString(); }

/// Chooses what a file kept; a key that no item has changes nothing.
/// @param numbered keys in the order by which older files, which kept numbers, count the items
inline void restoreChoice(QComboBox& box, const QJsonValue& saved, std::span<const char* const> numbered) {
    const auto last = static_cast<int>(numbered.size()) - 1;
    const QString key = saved.isString()
                            ? saved.toString()
                            : QString(QLatin1String(numbered[static_cast<size_t>(std::clamp(saved.toInt(), 0, last))]));
    if (const int item = box.findData(key); item >= 0) box.setCurrentIndex(item);
}

} // namespace attn
