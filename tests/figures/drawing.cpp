#include "app/figures/drawing.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("drawing: numbers have a true minus sign, and files that of ASCII", "[figures]") {
    CHECK(formatNumber(-0.25, 2) == "−0.25");
    CHECK(formatNumber(-0.001, 2) == "0.00");
    CHECK(formatShort(-0.00123, 2) == "−0.0012");
    CHECK(formatShort(1e-6, 3) == "1e-06");
    CHECK(formatPercent(-0.0512) == "−5.1 %");
    CHECK(formatPercent(1, 0) == "100 %");
    CHECK(readNumber(formatNumber(-0.25, 2)) == -0.25);
    CHECK(readNumber("0.5") == 0.5);
    CHECK_FALSE(readNumber("−"));
    CHECK_FALSE(readNumber("5 %"));
    CHECK(csvCell("−5.1 %") == "\"-5.1 %\"");
    CHECK(csvCell("−") == "\"−\""); // a token
    CHECK(csvCell("a \"b\"") == "\"a \"\"b\"\"\"");
}
