#include "app/lab/widgets/generated_text.h"
#include "tests/lab_widgets/windows.h"

using namespace attn;

TEST_CASE("generated text: each line is shown whole or not at all", "[lab]") {
    GeneratedText text;
    std::vector<TokenInfo> tokens(200);
    for (TokenInfo& token : tokens) token.text = token.written = "word ";
    text.setTokens(tokens);
    present(text, {300, 100});
    for (const int height : {61, 78, 95, 140}) {
        text.resize(300, height);
        const int lines = text.viewport()->height() - qCeil(2 * text.document()->documentMargin());
        CHECK(text.viewport()->height() <= height);
        CHECK(lines > 0);
        CHECK(lines % text.fontMetrics().lineSpacing() == 0);
    }
    for (int width = 120; width < 400; ++width) text.resize(width, 40 + width * 7 % 60); // comes to rest
}
