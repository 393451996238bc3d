#include "engine/text/tokenizer.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// tokenizer.json, and a short text that is converted with it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr std::string_view kText = "Ines's  park,\n\t12345 \xc3\xa9\xe2\x80\xa6 <s>ab\xcc\x81 ABCabcabc";
    constexpr int kShown = 300;
    fuzz::mayRefuse([&] {
        const Tokenizer tokenizer = Tokenizer::fromJson(fuzz::textOf(data, size));
        tokenizer.summary();
        for (int id = 0; id < std::min(tokenizer.vocabularySize(), kShown); ++id) tokenizer.tokenText(id);
        for (const std::string& text : {std::string(kText), std::string(400, 'a')}) {
            const Encoding encoding = tokenizer.encode(text);
            StreamDecoder stream(tokenizer, false);
            for (const int id : encoding.ids) {
                fuzz::require(id >= 0, "a text becomes tokens");
                stream.push(id);
            }
            stream.finish();
            tokenizer.decode(encoding.ids, true);
        }
        const Encoding pair = tokenizer.encodePair(kText, "b");
        fuzz::require(pair.types.size() == pair.ids.size(), "every token of a pair has a type");
    });
    return 0;
}
