#include "engine/text/tokenizer.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A model file of SentencePiece in folders of six kinds of models, and a short text that is converted with it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr std::string_view kText =
        "Ines's  park,\n\t12345 \xc3\xa9\xe2\x80\xa6 <s>ab\xcc\x81 \xef\xac\x81\xef\xbc\xa1 \xe2\x96\x81";
    static const fuzz::Folder t5, xlmRoberta, marian;
    const std::string_view bytes = fuzz::textOf(data, size);
    const auto check = [&](const Tokenizer& tokenizer) {
        for (const std::string& text : {std::string(kText), std::string(400, 'a')}) {
            const Encoding encoding = tokenizer.encode(text);
            for (const ByteRange& range : encoding.ranges)
                fuzz::require(range.begin <= range.end && range.end <= text.size(),
                              "a token covers a part of the text");
            tokenizer.decode(encoding.ids, true);
        }
    };
    t5.write("config.json", R"({"model_type": "t5"})");
    xlmRoberta.write("config.json", R"({"model_type": "xlm-roberta"})");
    static const fuzz::Folder llama, xlnet, camembert;
    for (const auto& [folder, model] : {std::pair{&llama, "llama"}, {&xlnet, "xlnet"}, {&camembert, "camembert"}}) {
        folder->write("config.json", std::string(R"({"model_type": ")") + model + R"("})");
        folder->write("tokenizer.model", bytes);
        fuzz::mayRefuse([&, &path = folder->path()] { check(Tokenizer::ofFolder(path).value()); });
    }
    t5.write("spiece.model", bytes);
    fuzz::mayRefuse([&] { check(Tokenizer::ofFolder(t5.path()).value()); });
    xlmRoberta.write("sentencepiece.bpe.model", bytes);
    fuzz::mayRefuse([&] { check(Tokenizer::ofFolder(xlmRoberta.path()).value()); });
    marian.write("source.spm", bytes);
    marian.write("target.spm", bytes);
    marian.write("vocab.json", R"({"</s>": 0, "<unk>": 1, "a": 2})");
    fuzz::mayRefuse([&] { check(Tokenizer::ofTranslationFolder(marian.path())->source); });
    return 0;
}
