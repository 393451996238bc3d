#include "app/figures/token_label.h"

#include "tests/support/catch.h"
#include "tests/support/samples.h"

using namespace attn;

TEST_CASE("token label: what is invisible becomes visible", "[figures]") {
    CHECK(visibleText(" time") == QStringLiteral("␣time"));
    CHECK(visibleText("  a b ") == QStringLiteral("␣␣a b␣"));
    CHECK(visibleText(" ") == QStringLiteral("␣"));
    CHECK(visibleText("\n") == QStringLiteral("↵"));
    CHECK(visibleText("\t\r") == QStringLiteral("⇥␍"));
    CHECK(visibleText(QString(QChar(0x200f))) == "U+200F");
    CHECK(visibleText(QString(QChar(0x202e)) + "x") == "U+202Ex");
    CHECK(visibleText(QString(QChar(0x0301))) == QString(QChar(0x25cc)) + QChar(0x0301));
}

TEST_CASE("token label: scripts pass unchanged", "[figures]") {
    for (const char* text : {"世界", "שלום", "مرحبا", "naïve", "नमस्ते", "😀", "👩‍👩‍👧", "<0xE4>"})
        CHECK(visibleText(QString::fromUtf8(text)) == QString::fromUtf8(text));
}

TEST_CASE("token label: a token without text shows its id", "[figures]") {
    TokenInfo token;
    token.id = 42;
    CHECK(tokenLabel(token) == "#42");
    CHECK(tokenLabels(nullptr).empty());
    CHECK(tokenLabels(samples::sequence({"<s>", " a"}).get()) == std::vector<QString>{"<s>", "␣a"});
}

TEST_CASE("token label: signs that few people know have a remark", "[figures]") {
    CHECK(tokenRemark("<0xC3>").contains("byte of a character"));
    CHECK(tokenRemark("<|endoftext|>").contains("special token"));
    CHECK(tokenRemark(visibleText(" time")).contains("is a space"));
    CHECK(tokenRemark("time").isEmpty());
}

TEST_CASE("labels: texts of files keep their lines and show what is invisible in them", "[figures]") {
    CHECK(shownText("a\nb") == "a\nb");
    CHECK(shownText(" a\x1b[31m ") == QString(" a") + QChar(0x241b) + "[31m ");
    CHECK(shownText("a\u202eb\u2066c\u061c") == "aU+202EbU+2066cU+061C");
    CHECK(shownText("👨‍👩‍👧") == QString::fromUtf8("👨‍👩‍👧"));
}
