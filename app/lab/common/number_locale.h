#pragma once

namespace attn {

/// Makes the whole program write and read numbers as papers do, whatever the user's locale is: with a point, and
/// without separators between groups of digits. Otherwise spin boxes show "1,00" beside figures that show "1.00". Call
/// it after the application has been made, because Qt then sets the locale of the C library, too, and before widgets.
void writeNumbersWithPoint();

} // namespace attn
