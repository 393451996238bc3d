// Ids, places and decoded texts by Hugging Face's own library, for normalizers, pre-tokenizers, models and decoders that the
// other goldens lack, by themselves and together.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_parts.mjs parts.json [random texts, default 16] [seed]
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const kTexts = ['', ' ', 'Hello, World!', 'a-b--c -d', 'naïve CAFÉ Résumé e\u0301 E\u0323\u0301 ﬁne Ａｂｃ① ½ ﷺ ㎏ Å \u212b ｶﾞ', 'İstanbul ΣΑΣ ẞ Ǆ ᏸ', 'हिन्दी ไทยกำ עִבְרִית \u20dd \u0903x \u1ab0',
    'a\tb\nc\u000bd\u000ce\rf\u0001g\u007fh\u008fi\u009fj\u1680k\u200bl\u2028m\u2581n\ufeffo\ufffdp\u00a0q', 'どこで生れたカタカナー漢字 abcГДЕ αβ1２ 。、x', 'hello world hello', '  two  words  ', '각 \u1100\u1161\u11a8 \u{1d15e} \u{2f800}'];
const kPools = ['hello', 'World', ' ', ' ', '-', 'é', 'e\u0301', '\u0323', 'ﬁ', '①', 'ｶ', 'ﾞ', '각', 'Σ', 'ß', 'İ', '\u0903', '\u200b', '\ufeff', '\u2581', 'カ', 'ー', '漢', 'Г', 'α', '1', '!', '\n', '\u0001', '½'];
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
for (let n = 0; n < Number(process.argv[3] ?? 16); n++) {
    let text = '';
    for (let i = 1 + random(16); i > 0; i--) text += random(5) ? kPools[random(kPools.length)] : randomCharacter();
    texts.push(text);
}
const vocabulary = {'[UNK]': 0};
for (const word of ['hello', 'Hello', 'world', 'World', 'a', 'b', 'c', 'cafe', 'fine', '1', '-', 'hello</w>', 'world</w>', ...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789éβαГДЕカ漢字どこ。、!', ...[...'abcdefgw'].map((c) => c + '</w>')])
    if (!(word in vocabulary)) vocabulary[word] = Object.keys(vocabulary).length;
const characters = {type: 'BPE', dropout: null, unk_token: '[UNK]', continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, vocab: vocabulary, merges: []};
const words = {type: 'WordLevel', vocab: vocabulary, unk_token: '[UNK]'};
const added = [{id: 0, content: '[UNK]', single_word: false, lstrip: false, rstrip: false, normalized: false, special: true}];
const tokenizer = (fields) => ({version: '1.0', truncation: null, padding: null, added_tokens: added, normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, model: characters, ...fields});
const sequence = (...normalizers) => ({type: 'Sequence', normalizers});
const xlnet = sequence({type: 'Replace', pattern: {String: '``'}, content: '"'}, {type: 'Replace', pattern: {String: "''"}, content: '"'}, {type: 'NFKD'}, {type: 'StripAccents'}, {type: 'Lowercase'}, {type: 'Replace', pattern: {Regex: ' {2,}'}, content: ' '});
const kCases = {
    ...Object.fromEntries(['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'StripAccents', 'Nmt'].map((type) => [`parts_${type}`, tokenizer({normalizer: {type}})])),
    parts_nfd_strip_lower: tokenizer({normalizer: sequence({type: 'NFD'}, {type: 'StripAccents'}, {type: 'Lowercase'})}),
    parts_nmt_nfkc_prepend: tokenizer({normalizer: sequence({type: 'Nmt'}, {type: 'NFKC'}, {type: 'Strip', strip_left: true, strip_right: true}, {type: 'Prepend', prepend: '▁'}, {type: 'Replace', pattern: {String: ' '}, content: '▁'})}),
    parts_xlnet: tokenizer({normalizer: xlnet, pre_tokenizer: {type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true}, decoder: {type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true}}),
    parts_words: tokenizer({model: words, pre_tokenizer: {type: 'Whitespace'}}),
    parts_words_lower: tokenizer({model: words, normalizer: sequence({type: 'NFKC'}, {type: 'Lowercase'}), pre_tokenizer: {type: 'WhitespaceSplit'}}),
    parts_delimiter: tokenizer({model: words, pre_tokenizer: {type: 'CharDelimiterSplit', delimiter: '-'}}),
    parts_scripts: tokenizer({model: words, pre_tokenizer: {type: 'UnicodeScripts'}}),
    parts_length: tokenizer({model: words, pre_tokenizer: {type: 'FixedLength', length: 3}}),
    parts_digits_punctuation: tokenizer({model: words, pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'CharDelimiterSplit', delimiter: ' '}, {type: 'Punctuation', behavior: 'MergedWithPrevious'}, {type: 'Digits', individual_digits: true}]}}),
    parts_word_ends: tokenizer({model: {...characters, end_of_word_suffix: '</w>', merges: [['h', 'e']].slice(1)}, pre_tokenizer: {type: 'WhitespaceSplit'}, decoder: {type: 'BPEDecoder', suffix: '</w>'}}),
    parts_ctc: tokenizer({decoder: {type: 'CTC', pad_token: 'a', word_delimiter_token: '-', cleanup: true}}),
};
const bytesOf = (text, [begin, end]) => { const letters = [...text], length = (n) => Buffer.byteLength(letters.slice(0, n).join('')); return [length(begin), length(end)]; };
const models = [], cases = [];
for (const [name, json] of Object.entries(kCases)) {
    const oracle = Tokenizer.fromString(JSON.stringify(json));
    const decode = async (list, skip) => (list.length ? await oracle.decode(list, skip) : '');
    const ids = [], ranges = [], decoded = {}, decodedWhole = {}, shuffled = [];
    for (const [i, text] of texts.entries()) {
        const encoding = await oracle.encode(text);
        ids.push(encoding.getIds());
        ranges.push(encoding.getOffsets().map((place) => bytesOf(text, place)).flat());
        decoded[i] = await decode(encoding.getIds(), true);
        decodedWhole[i] = await decode(encoding.getIds(), false);
    }
    for (let n = 0; n < 6; n++) {
        const list = Array.from({length: 12}, () => random(Object.keys(vocabulary).length));
        shuffled.push({ids: list, text: await oracle.decode(list, false)});
    }
    let model = models.indexOf(JSON.stringify(json.model));
    if (model < 0) model = models.push(JSON.stringify(json.model)) - 1;
    cases.push({name, tokenizer: {...json, model}, ids, ranges, decoded, decodedWhole, shuffled});
}
const version = JSON.parse(readFileSync('node_modules/tokenizers/package.json')).version;
const ascii = (json) => json.replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
writeFileSync(process.argv[2], ascii(`{"tokenizers": "${version}",\n"texts": ${JSON.stringify(texts)},\n"models": [\n${models.join(',\n')}\n],\n"cases": [\n${cases.map((c) => JSON.stringify(c)).join(',\n')}\n]}\n`));
