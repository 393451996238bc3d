"""Trains small SentencePiece models as CamemBERT, XLNet and Llama have them, and writes the ids that their tokenizers give
many texts: those of SentencePiece itself, with the changes and the offsets of transformers' slow tokenizers written out here.

    /usr/bin/python3 make_more_pieces.py CORPUS.txt FOLDER

FOLDER (tests/golden/text/sentence_pieces) gets the folders of models and more.json. Needs Debian's python3-sentencepiece.
"""
import io
import json
import os
import random
import sys
import unicodedata

import sentencepiece

TEXTS = ["", " ", "The King is dead; long live the King!", "  leading, two  blanks and trailing  ", "na\u00efve caf\u00e9 e\u0301 E\u0323\u0301 \u00c5ngstr\u00f6m", "\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \uc548\ub155", "\U0001f600 \U0001f937\U0001f937zzz",
         "\uff26\uff55\uff4c\uff4c \ufb01re \u2460 \u00bd", "[sep]x [sep] y[sep][sep]z", "12, 345 a1b2", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "thethethe thouthou", "``Quoted'' and ''so``", "CAF\u00c9 \u00dcn\u00ef \u0141\u00d3D\u0179", "\u0928\u092e\u0938\u094d\u0924\u0947 \u05e9\u05b8", "a\nb\tc"]
POOL = ["the", "King", "thou", "love", " ", " ", "  ", ",", ".", "\u00e9", "e\u0301", "\u0323", "\ufb01", "\u0416", "\u4e16", "\U0001f600", "1", "23", "\u00bd", "[sep]", "''", "Q", "z"]

corpus, folder = sys.argv[1:3]
lines = [line.strip() for line in open(corpus, encoding="utf-8") if line.strip()][:4000]
chance = random.Random(7)
texts = TEXTS + ["".join(chance.choice(POOL) for _ in range(chance.randrange(1, 25))) for _ in range(40)]


def train(name, file, config, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, num_threads=1, minloglevel=2, **options)
    os.makedirs(f"{folder}/{name}", exist_ok=True)
    open(f"{folder}/{name}/{file}", "wb").write(model.getvalue())
    json.dump(config, open(f"{folder}/{name}/config.json", "w"))
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


result = {"texts": texts}
camembert = train("camembert", "sentencepiece.bpe.model", {"model_type": "camembert"}, vocab_size=200, model_type="unigram", normalization_rule_name="identity")
result["camembert"] = [[5, *[3 if i == 0 else i + 4 for i in camembert.encode(text)], 6] for text in texts]
xlnet = train("xlnet", "spiece.model", {"model_type": "xlnet"}, vocab_size=200, model_type="unigram", normalization_rule_name="identity", control_symbols=["<cls>", "<sep>", "<pad>", "<mask>"])


def cleaned(text, lowers):
    text = unicodedata.normalize("NFKD", text.replace("``", '"').replace("''", '"'))
    text = "".join(c for c in text if not unicodedata.category(c).startswith("M"))
    return text.lower() if lowers else text


for name, lowers in (("xlnet", False), ("xlnet_lower", True)):
    result[name] = [[*xlnet.encode(cleaned(text, lowers)), 4, 3] for text in texts]
llama = train("llama", "tokenizer.model", {"model_type": "llama"}, vocab_size=500, model_type="bpe", normalization_rule_name="identity", byte_fallback=True, remove_extra_whitespaces=False, user_defined_symbols=["[sep]", "\u2581\u2581"], split_digits=True)
result["llama"] = [[1, *llama.encode(text)] for text in texts]
json.dump(result, open(f"{folder}/more.json", "w"), separators=(",", ":"))
