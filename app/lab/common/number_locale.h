#pragma once

namespace attn {

/// Makes the whole program read and write numbers as papers do, with a decimal point and without separators of groups,
/// in any locale of the user. Otherwise spin boxes would show "1,00" beside figures that show "1.00". Call it after the
/// application is made, because Qt then also sets the locale of the C library, and before widgets are made.
void writeNumbersWithPoint();

} // namespace attn
