// Ids and decoded texts by Hugging Face's own library, for tokenizers of T5's and XLM-RoBERTa's shapes.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_unigrams.mjs pieces.json expected.json unigrams.json [full]
// pieces.json and expected.json are from make_sentence_pieces.py. With "full", SentencePiece's whole rules of normalization take
// the place of the small ones.
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const {vocab, charsmap, fullCharsmap} = JSON.parse(readFileSync(process.argv[2]));
const texts = [...JSON.parse(readFileSync(process.argv[3])).texts, '</s>a <unk> b<mask>  c <s>', '<extra_id_0>x <extra_id_1> y', 'a <mask>b ▁<mask>'];

const specials = ['<s>', '<pad>', '</s>', '<unk>'], pieces = [...specials.map((s) => [s, 0]), ...vocab.slice(3)];
const added = (id, content, flags = {}) => ({id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...flags});
const model = (fields = {}) => ({type: 'Unigram', unk_id: 3, byte_fallback: false, vocab: pieces, ...fields});
const precompiled = {type: 'Precompiled', precompiled_charsmap: process.argv[5] === 'full' ? fullCharsmap : charsmap};
const metaspace = (fields = {}) => ({type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true, ...fields});
const token = (id) => ({SpecialToken: {id, type_id: 0}}), text = (id) => ({Sequence: {id, type_id: 0}});
const ending = {type: 'TemplateProcessing', single: [text('A'), token('</s>')], pair: [text('A'), token('</s>'), text('B'), token('</s>')],
                special_tokens: {'</s>': {id: '</s>', ids: [2], tokens: ['</s>']}}};
const around = {type: 'TemplateProcessing', single: [token('<s>'), text('A'), token('</s>')],
                pair: [token('<s>'), text('A'), token('</s>'), token('</s>'), text('B'), token('</s>')],
                special_tokens: {'<s>': {id: '<s>', ids: [0], tokens: ['<s>']}, '</s>': {id: '</s>', ids: [2], tokens: ['</s>']}}};
const tokenizer = (fields) => ({version: '1.0', truncation: null, padding: null, added_tokens: specials.map((s, id) => added(id, s)), normalizer: precompiled,
                                pre_tokenizer: metaspace(), post_processor: null, decoder: metaspace(), model: model(), ...fields});
const sentinels = (count) => Array.from({length: count}, (_, i) => [`<extra_id_${count - 1 - i}>`, 0]);
const withSentinels = [...pieces, ...sentinels(4)];
const withBytes = [...pieces, ...Array.from({length: 256}, (_, b) => [`<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`, 0])];
const replace = (pattern, content) => ({type: 'Replace', pattern, content});
const kCases = {
    t5: tokenizer({added_tokens: [...specials.map((s, id) => added(id, s)), ...sentinels(4).map(([s], i) => added(pieces.length + i, s))],
                   pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'WhitespaceSplit'}, {type: 'Metaspace', replacement: '▁', add_prefix_space: true}]},
                   decoder: {type: 'Metaspace', replacement: '▁', add_prefix_space: true}, post_processor: ending, model: model({vocab: withSentinels})}),
    flan_t5: tokenizer({pre_tokenizer: metaspace(), post_processor: ending}),
    xlm_roberta: tokenizer({added_tokens: [...specials.map((s, id) => added(id, s)), added(pieces.length, '<mask>', {lstrip: true})],
                            normalizer: {type: 'Sequence', normalizers: [precompiled, {type: 'Strip', strip_left: false, strip_right: true}, replace({Regex: ' {2,}'}, '▁')]},
                            post_processor: around, model: model({vocab: [...pieces, ['<mask>', 0]]})}),
    unigram_first: tokenizer({normalizer: {type: 'Sequence', normalizers: [precompiled, replace({Regex: ' {2,}'}, ' ')]}, pre_tokenizer: metaspace({prepend_scheme: 'first'})}),
    unigram_whole: tokenizer({normalizer: null, pre_tokenizer: metaspace({prepend_scheme: 'never', split: false}), decoder: metaspace({prepend_scheme: 'never'})}),
    unigram_bytes: tokenizer({model: model({vocab: withBytes, byte_fallback: true}),
                              decoder: {type: 'Sequence', decoders: [replace({String: '▁'}, ' '), {type: 'ByteFallback'}, {type: 'Fuse'}, {type: 'Strip', content: ' ', start: 1, stop: 0}]}}),
    // Two pieces with the same text, and no added token that keeps the text from spelling the unknown one.
    unigram_doubled: tokenizer({added_tokens: [], model: model({vocab: [...pieces, ['the', -1], ['th', 2], ['the', -30]]})})};

let state = 1n;
function random(limit) {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(state >> 33n) % limit;
}
const models = [], cases = [];
for (const [name, json] of Object.entries(kCases)) {
    const oracle = Tokenizer.fromString(JSON.stringify(json));
    // An empty list makes the library's Strip decoder panic.
    const decode = async (list, skip) => (list.length ? await oracle.decode(list, skip) : '');
    const ids = [], decoded = {}, decodedWhole = {}, pairs = [], shuffled = [];
    for (const [i, each] of texts.entries()) {
        const encoding = await oracle.encode(each);
        ids.push(encoding.getIds());
        decoded[i] = await decode(encoding.getIds(), true);
        const whole = await decode(encoding.getIds(), false);
        if (whole !== decoded[i]) decodedWhole[i] = whole;
        if (decoded[i] === each) delete decoded[i];
    }
    for (let i = 2; i + 1 < 10; i++) {
        const encoding = await oracle.encode(texts[i], texts[i + 1]);
        pairs.push({ids: encoding.getIds(), types: encoding.getTypeIds()});
    }
    for (let n = 0; n < 6; n++) {
        const list = Array.from({length: 12}, () => random(json.model.vocab.length));
        shuffled.push({ids: list, text: await oracle.decode(list, false)});
    }
    let index = models.indexOf(JSON.stringify(json.model));
    if (index < 0) index = models.push(JSON.stringify(json.model)) - 1;
    cases.push({name, tokenizer: {...json, model: index}, ids, decoded, decodedWhole, pairs, shuffled});
}
const version = JSON.parse(readFileSync('node_modules/tokenizers/package.json')).version;
const ascii = (json) => json.replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
writeFileSync(process.argv[4], ascii(`{"tokenizers": "${version}",\n"texts": ${JSON.stringify(texts)},\n"models": [\n${models.join(',\n')}\n],\n"cases": [\n${cases.map((c) => JSON.stringify(c)).join(',\n')}\n]}\n`));
