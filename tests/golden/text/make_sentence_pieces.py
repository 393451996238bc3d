"""Trains small SentencePiece models and writes the ids that SentencePiece itself gives many texts.

    python3 make_sentence_pieces.py CORPUS.txt FOLDER [random texts, default 40] [seed]

CORPUS.txt is any English text (tests/golden/text/sentence_pieces was made from tinyshakespeare.txt). FOLDER gets the
models, expected.json, and pieces.json for make_unigrams.mjs, which is not kept. Needs Debian's python3-sentencepiece
and python3-protobuf.
"""
import base64
import io
import json
import os
import random
import sys
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

TEXTS = [
    "", " ", "   ", "\t", "\n", "Hello, world!", " leading and trailing  ", "a  b   c\t\td\n\ne\r\nf",
    "The King is dead; long live the King!", "naïve café résumé Ångström über Straße élève ŒUVRE",
    "e\u0301 e\u0301\u0323 e\u0323\u0301 \u0301a u\u0308 A\u030a \u212b ﬁ\u0301 ﬃ", "世界和平 こんにちは ガギグ カ\u3099 안녕하세요 \u1100\u1161\u11a8",
    "😀👍🏽👩\u200d👩\u200d👧🇩🇪 ❤\ufe0f #\ufe0f\u20e3", "Ｆｕｌｌ　ｗｉｄｔｈ １２３ ｶﾞｷﾞ", "नमस्ते दुनिया ครับ مرحبا بالعالم שָׁלוֹם Привет мир Γειά",
    "x\u00a0y\u2003z\u3000w\u200bv\u200du\ufefft\u2028s\u0085r\u00adq", "½ ² Ⅷ ① ㎏ ㍿ ™ … ‥ ﷺ", "a\u0000b\u0001c\u007fd\u0080e\ufffdf\U0010ffffg\ue000h",
    "▁▁already▁marked ▁", "🤷zzz世世 zz🤷🤷 qqq", "<0x41> a<0xE4>b <unknown>", "thethethethe thouthou kingkingking", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "To be, or not to be: that is the question", "[sep]x [sep] y[sep][sep]z ＜sep＞ new york  New York", "x=3.14*(y-2)/{z}; @user #tag $5 €10", "\u200b\u200b", "\u3000a\u3000"]
POOL = ["the", "King", "thou", "love", "ing", " ", " ", " ", "  ", "\n", "\t", ",", ".", "'s", "é", "e\u0301", "\u0323", "\u0301", "ß", "ﬁ", "①", "Ж", "мир", "世", "界", "ガ", "カ\u3099", "안",
        "\u1100\u1161", "न", "\u094d", "م", "😀", "\u200d", "\ufe0f", "1", "23", "½", "\u00a0", "\u3000", "\u200b", "▁", "Ａ", "ｂ", "z", "Q", "[sep]", "New York", "\r\n", "²", "㎏", "\u00ad"]
# What a folder's own code, and not SentencePiece, makes of special tokens in a text: these do not stand in TEXTS.


def random_texts(count, seed):
    chance = random.Random(seed)

    def character():
        while True:
            code = chance.randrange(0x3000) if chance.randrange(8) else chance.randrange(0x20000)
            if code and not 0xD800 <= code < 0xE000:
                return chr(code)

    return ["".join(chance.choice(POOL) if chance.randrange(7) else character() for _ in range(chance.randrange(1, 25))) for _ in range(count)]


def rules():
    """A small part of SentencePiece's own rules: compatible characters, marks, and kinds of spaces."""
    table = {code: [0x20] for code in [9, 10, 13, 0xA0, 0x2003, 0x3000, 0x200D, 0xFEFF]}
    table[0x200B] = table[0xAD] = []
    lines = ["%X\t%s" % (code, " ".join("%X" % c for c in to)) for code, to in table.items()]
    for code in [*range(0xFF01, 0xFF5F), *range(0xFB00, 0xFB05), *range(0x2460, 0x2469), 0xBD, 0xB2, 0x2167, 0x212B, 0x2122, 0x2026, 0x338F, 0xFDFA]:
        lines.append("%X\t%s" % (code, " ".join("%X" % ord(c) for c in unicodedata.normalize("NFKC", chr(code)))))
    for letter in "aeiouAEIOU":
        for marks in ["\u0301", "\u0308", "\u0323", "\u0301\u0323", "\u0323\u0301"]:
            whole = unicodedata.normalize("NFC", letter + marks)
            lines.append("%s\t%s" % (" ".join("%X" % ord(c) for c in letter + marks), " ".join("%X" % ord(c) for c in whole)))
    return "\n".join(lines) + "\n"


def train(sentences, path, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, model_type="unigram", num_threads=1,
                                             minloglevel=2, **options)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    proto.trainer_spec.input[:] = []
    proto.normalizer_spec.normalization_rule_tsv = ""
    with open(path, "wb") as file:
        file.write(proto.SerializeToString())
    return sentencepiece.SentencePieceProcessor(model_file=path), proto


corpus, folder = sys.argv[1], sys.argv[2]
texts = TEXTS + random_texts(int(sys.argv[3]) if len(sys.argv) > 3 else 40, int(sys.argv[4]) if len(sys.argv) > 4 else 1)
with open(corpus, encoding="utf-8") as file:
    lines = [line.strip() for line in file if line.strip()][:4000]
foreign = ["naïve café résumé élève ① ½ Straße über", "世界和平 こんにちは 안녕하세요", "Привет мир", "ガ カ"] * 20
upside = ["".join(chr((ord(c) - 97 + 13) % 26 + 97) if "a" <= c <= "z" else c for c in line) for line in lines] + ["ÄÖÜ äöü ß привет"] * 20
rule_file = os.path.join(folder, "rules.tsv")
with open(rule_file, "w", encoding="utf-8") as file:
    file.write(rules())
at = lambda *names: os.path.join(folder, *names)  # noqa: E731
for name in ["t5", "xlm_roberta", "bytes", "marian", "whole"]:
    os.makedirs(at(name), exist_ok=True)

t5, t5_proto = train(lines, at("t5", "spiece.model"), vocab_size=300, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
xlm, xlm_proto = train(lines + foreign, at("xlm_roberta", "sentencepiece.bpe.model"), vocab_size=400, normalization_rule_tsv=rule_file)
with_bytes, _ = train(lines, at("bytes", "spiece.model"), vocab_size=500, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                      user_defined_symbols=["[sep]", "New York", "▁<extra_id_0>"], pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
whole, _ = train(lines, at("whole", "spiece.model"), vocab_size=300, split_by_whitespace=False, add_dummy_prefix=False, normalization_rule_name="identity",
                 pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
source, source_proto = train(lines, at("marian", "source.spm"), vocab_size=250, normalization_rule_tsv=rule_file)
target, target_proto = train(upside, at("marian", "target.spm"), vocab_size=250, normalization_rule_tsv=rule_file)
os.remove(rule_file)
# As Marian's converter does: the pieces of both models, sorted by their text, then the padding; some pieces are missing.
marian = {"</s>": 0, "<unk>": 1}
names = sorted({piece.piece for proto in (source_proto, target_proto) for piece in proto.pieces if piece.type == 1})
for index, name in enumerate(names):
    if index % 29 != 3:
        marian[name] = len(marian)
marian[">>fra<<"] = len(marian)
marian["<pad>"] = len(marian)
with open(at("marian", "vocab.json"), "w", encoding="ascii") as file:
    json.dump(marian, file, indent=0)

expected = {
    "sentencepiece": sentencepiece.__version__,
    "texts": texts,
    "t5": [t5.encode(text) + [t5.piece_to_id("</s>")] for text in texts],
    "xlm_roberta": [[0] + [3 if i == 0 else i + 1 for i in xlm.encode(text)] + [2] for text in texts],
    "bytes": [with_bytes.encode(text) + [1] for text in texts],
    "whole": [whole.encode(text) + [1] for text in texts],
    "source": [[marian.get(piece, 1) for piece in source.encode(text, out_type=str)] + [0] for text in texts],
    "target": [[marian.get(piece, 1) for piece in target.encode(text, out_type=str)] + [0] for text in texts],
    # The text that SentencePiece makes of the pieces. Where one is unknown, the engine shows the token; where a text spells the
    # mark of spaces at its beginning, SentencePiece removes them all.
    "decoded": {name: {i: model.decode(model.encode(text)) for i, text in enumerate(texts)
                       if model.unk_id() not in model.encode(text) and not text.lstrip().startswith("▁")}
                for name, model in {"t5": t5, "bytes": with_bytes, "whole": whole}.items()},
}
with open(at("expected.json"), "w", encoding="ascii") as file:
    file.write("{" + ",\n".join(json.dumps(key) + ": " + json.dumps(value) for key, value in expected.items()) + "}\n")
with open(at("pieces.json"), "w", encoding="ascii") as file:
    json.dump({"vocab": [[piece.piece, piece.score] for piece in xlm_proto.pieces], "charsmap": base64.b64encode(xlm_proto.normalizer_spec.precompiled_charsmap).decode(),
               "fullCharsmap": base64.b64encode(t5_proto.normalizer_spec.precompiled_charsmap).decode()}, file)
