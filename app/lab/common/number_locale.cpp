#include "app/lab/common/number_locale.h"

#include <QLocale>

#include <clocale>

namespace attn {

void writeNumbersWithPoint() {
    std::setlocale(LC_NUMERIC, "C");
    QLocale numbers = QLocale::c();
    numbers.setNumberOptions(QLocale::OmitGroupSeparator | QLocale::RejectGroupSeparator);
    QLocale::setDefault(numbers);
}

} // namespace attn
