#include "app/lab/widgets/site_box.h"

#include <QLineEdit>

#include <algorithm>

namespace attn {

void SiteBox::setNames(std::vector<QString> names) {
    if (names == names_) return;
    names_ = std::move(names);
    lineEdit()->setText(textFromValue(value()));
    updateGeometry();
}

QString SiteBox::textFromValue(int value) const {
    return value >= 0 && value < std::ssize(names_) ? names_[static_cast<size_t>(value)] : QString::number(value);
}

int SiteBox::indexOf(const QString& text) const {
    const auto found = std::ranges::find_if(
        names_, [&](const QString& name) { return name.compare(text.trimmed(), Qt::CaseInsensitive) == 0; });
    if (found != names_.end()) return static_cast<int>(found - names_.begin());
    bool isNumber = false;
    const int number = text.toInt(&isNumber);
    return isNumber && number >= minimum() && number <= maximum() ? number : -1;
}

int SiteBox::valueFromText(const QString& text) const { return indexOf(text); }

QValidator::State SiteBox::validate(QString& text, int& position) const {
    if (names_.empty()) return WholeBox::validate(text, position);
    return indexOf(text) >= 0 ? QValidator::Acceptable : QValidator::Intermediate;
}

} // namespace attn
