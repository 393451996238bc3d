// Ids, token types, places and decoded texts by Hugging Face's own library, for BERT's tokenizers, texts and pairs of texts.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_word_pieces.mjs word_pieces.json [random texts, default 24] [seed]
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const kTexts = ['', ' ', 'Hello, world!', 'The unaffable dogs are playing.', "don't we've they're I'M HE'LL do not 'sit o'clock ''s", 'naïve café Résumé ÅNGSTRÖM Ünïcödé e\u0301 \u1e9e STRASSE',
    '世界和平 playing世界 hello\u{2a6d6}x \u{2b820}\u{2b920} こんにちは 안녕하세요', 'Привет Мир Γειά Σας İstanbul DŽ ǅ ﬁ \u0344x', 'a  b\tc\nd\r\ne\u00a0f\u2003g\u3000h\u2028i\u0085j\u200bk\u00adl\ufeffm\u0000n\ufffdo\u{e000}p\u0378q',
    'x=3.14*(y-2)/{z}; @user #tag $5 €10 ™ © ½ « » “quoted” … — – ¿qué? ⟨a⟩ \u05be\u05c3 \u{1F600}', 'h'.repeat(100) + ' ' + 'h'.repeat(101) + ' ' + 'é'.repeat(100) + ' end', 'मस्ते हिन्दी תּוֹרָה مَرْحَبًا ก็ \u0f39',
    '[CLS] the [MASK] is [mask] [SEP] [UNK][PAD]x', '  leading, trailing  ', 'playing . plays ? do n\'t you \' s', 'unk zebra qqq thedog dogs ##ing # #ing'];
const kPools = ['the', 'dog', 'Playing', 'un', ' ', ' ', ' ', '\n', '.', ',', "'", '-', 'é', 'E\u0301', '\u0323', 'ß', 'İ', 'Ж', 'мир', 'Σ', '世', '\u{20000}', 'こ', '안', '\u094d', 'न', 'م', '\u05b0', '😀', '\u200d', '1', '23', '½', '¿', '“', '。', '\u00a0', '\u0085', '\u200b', '\u0000', '[MASK]', '[SEP]', '##ing', 'Ǆ', 'ff', 'A'];
let state = BigInt(process.argv[4] ?? 1);
function random(limit) {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(state >> 33n) % limit;
}
function randomCharacter() {
    for (;;) {
        const c = random(8) ? random(0x3000) : random(0x20000);
        if (c && (c < 0xd800 || c > 0xdfff)) return String.fromCodePoint(c);
    }
}
const texts = [...kTexts];
for (let n = 0; n < Number(process.argv[3] ?? 24); n++) {
    let text = '';
    for (let i = 1 + random(24); i > 0; i--) text += random(7) ? kPools[random(kPools.length)] : randomCharacter();
    texts.push(text);
}

const kSpecials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const vocabulary = {};
const put = (token) => { if (!(token in vocabulary)) vocabulary[token] = Object.keys(vocabulary).length; };
kSpecials.forEach(put);
for (const word of ['the', 'dog', '##s', 'play', '##ing', 'un', '##aff', '##able', 'hello', 'Hello', 'world', 'cafe', 'café', 'resume', 'naive', 'are', 'we', 'do', 'not', "n't", 'мир', 'привет', 'end', 'istanbul', 'ss', '##ff']) put(word);
for (const c of "abcdefghijklmnopqrstuvwxyzAHéßäåç世界和平。こんにちは안녕하세요приветмсахσςγεια0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~€“”…—–¿«»½½नमस्तेहिन्दीתורהمرحبا") { put(c); put('##' + c); }
const kVocabulary = Object.keys(vocabulary).sort((a, b) => vocabulary[a] - vocabulary[b]); // keys that are numbers come first
const added = kSpecials.map((content, id) => ({id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true}));
const pieces = (fields = {}) => ({type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab: vocabulary, ...fields});
const normalizer = (fields = {}) => ({type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true, ...fields});
const special = (id, type_id) => ({SpecialToken: {id, type_id}}), text = (id, type_id) => ({Sequence: {id, type_id}});
const template = {type: 'TemplateProcessing', single: [special('[CLS]', 0), text('A', 0), special('[SEP]', 0)],
                  pair: [special('[CLS]', 0), text('A', 0), special('[SEP]', 0), text('B', 1), special('[SEP]', 1)],
                  special_tokens: {'[CLS]': {id: '[CLS]', ids: [2], tokens: ['[CLS]']}, '[SEP]': {id: '[SEP]', ids: [3], tokens: ['[SEP]']}}};
const bertProcessing = {type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2]};
const tokenizer = (fields) => ({version: '1.0', truncation: null, padding: null, added_tokens: added, normalizer: normalizer(), pre_tokenizer: {type: 'BertPreTokenizer'},
                                post_processor: template, decoder: {type: 'WordPiece', prefix: '##', cleanup: true}, model: pieces(), ...fields});
// config: the tokenizer_config.json with which vocab.txt means the same.
const kCases = {
    bert_uncased: {config: {}, json: tokenizer({})},
    bert_cased: {config: {do_lower_case: false}, json: tokenizer({normalizer: normalizer({lowercase: false}), post_processor: bertProcessing})},
    bert_accents: {config: {strip_accents: false, tokenize_chinese_chars: false, mask_token: {content: '[MASK]'}}, json: tokenizer({normalizer: normalizer({strip_accents: false, handle_chinese_chars: false})})},
    bert_raw: {json: tokenizer({normalizer: normalizer({clean_text: false, lowercase: false, strip_accents: true}), post_processor: null, decoder: {type: 'WordPiece', prefix: '##', cleanup: false}})},
    bert_short_words: {json: tokenizer({model: pieces({max_input_chars_per_word: 5}), post_processor: {type: 'RobertaProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2], trim_offsets: true, add_prefix_space: false}})}};

// The library counts characters; the engine counts bytes.
const bytesOf = (text, [begin, end]) => { const letters = [...text], length = (n) => Buffer.byteLength(letters.slice(0, n).join('')); return [length(begin), length(end)]; };
const models = [], cases = [];
for (const [name, {json, config}] of Object.entries(kCases)) {
    const oracle = Tokenizer.fromString(JSON.stringify(json));
    const ids = [], ranges = [], decoded = {}, decodedWhole = {}, pairs = [], shuffled = [];
    for (const [i, text] of texts.entries()) {
        const encoding = await oracle.encode(text);
        ids.push(encoding.getIds());
        ranges.push(encoding.getOffsets().map((place) => bytesOf(text, place)).flat());
        decoded[i] = await oracle.decode(encoding.getIds(), true);
        decodedWhole[i] = await oracle.decode(encoding.getIds(), false);
    }
    for (let i = 2; i + 1 < 14; i++) {
        const encoding = await oracle.encode(texts[i], texts[i + 1]);
        pairs.push({ids: encoding.getIds(), types: encoding.getTypeIds()});
    }
    for (let n = 0; n < 6; n++) {
        const list = Array.from({length: 12}, () => random(kVocabulary.length));
        shuffled.push({ids: list, text: await oracle.decode(list, false)});
    }
    let model = models.indexOf(JSON.stringify(json.model));
    if (model < 0) model = models.push(JSON.stringify(json.model)) - 1;
    cases.push({name, tokenizer: {...json, model}, ...(config ? {config} : {}), ids, ranges, decoded, decodedWhole, pairs, shuffled});
}
const version = JSON.parse(readFileSync('node_modules/tokenizers/package.json')).version;
const ascii = (json) => json.replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
writeFileSync(process.argv[2], ascii(`{"tokenizers": "${version}",\n"texts": ${JSON.stringify(texts)},\n"vocabulary": ${JSON.stringify(kVocabulary)},\n"models": [\n${models.join(',\n')}\n],\n"cases": [\n${cases.map((c) => JSON.stringify(c)).join(',\n')}\n]}\n`));
