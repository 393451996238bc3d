// Small tokenizers in the shapes that real models have, as tokenizer.json objects by name.

const kTraining = `Once upon a time there was a little girl. She didn't know what she'd do; they're sure we've got it, I'm told he'll say.
The quick brown fox jumps over the lazy dog 1234567890 times, in 2024 and 1999. naïve café résumé über Straße élève
Привет мир, как дела? Γειά σου Κόσμε. 世界和平 你好世界 こんにちは世界 안녕하세요 세계 नमस्ते दुनिया مرحبا بالعالم שלום עולם 😀😀👍🏽 👩‍👩‍👧
def main(argc, argv):\n    return {"key": [1, 2, 3]}  # comment\n\n\tif (x != y) && !done: print("hello world")\r\n`.repeat(2);

export function byteCharacters() {
    const map = [];
    let shifted = 0x100;
    for (let b = 0; b < 256; b++) {
        const itself = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b !== 0xad);
        map.push(String.fromCodePoint(itself ? b : shifted++));
    }
    return map;
}

/// Greedy byte-pair training over words given as lists of symbols.
function train(words, vocabulary, count) {
    const merges = [];
    for (let n = 0; n < count; n++) {
        const counts = new Map();
        for (const word of words)
            for (let i = 0; i + 1 < word.length; i++) {
                const key = word[i] + '\u0000' + word[i + 1];
                counts.set(key, (counts.get(key) ?? 0) + 1);
            }
        const best = [...counts].filter(([, c]) => c > 1).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0];
        if (!best) break;
        const [left, right] = best[0].split('\u0000');
        merges.push([left, right]);
        if (!(left + right in vocabulary)) vocabulary[left + right] = Object.keys(vocabulary).length;
        for (const word of words)
            for (let i = 0; i + 1 < word.length; i++)
                if (word[i] === left && word[i + 1] === right) word.splice(i, 2, left + right);
    }
    return merges;
}

const model = (fields) => ({type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null,
                            fuse_unk: false, byte_fallback: false, ignore_merges: false, ...fields});
const tokenizer = (fields) => ({version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null,
                                post_processor: null, decoder: null, ...fields});
const added = (id, content, flags = {}) => ({id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...flags});

function byteLevelModel(count, fields = {}, stringMerges = true) {
    const characters = byteCharacters(), vocab = {};
    characters.forEach((c, i) => (vocab[c] = i));
    const words = kTraining.match(/ ?[^\s]+|\s+/g).map((w) => [...Buffer.from(w)].map((b) => characters[b]));
    const merges = train(words, vocab, count);
    return model({vocab, merges: stringMerges ? merges.map((m) => m.join(' ')) : merges, ...fields});
}

function sentencePieceModel(count, {bytes = 256, drop = [], ...fields} = {}) {
    const vocab = {'<unk>': 0, '<s>': 1, '</s>': 2};
    for (let b = 0; b < bytes; b++) vocab[`<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`] = Object.keys(vocab).length;
    const text = kTraining.replaceAll(' ', '▁');
    for (const c of new Set('▁' + text)) if (!drop.includes(c) && !/\s/.test(c) && !(c in vocab)) vocab[c] = Object.keys(vocab).length;
    const words = text.match(/▁?[^▁\s]+|▁+/g).map((w) => [...w].filter((c) => c in vocab));
    const merges = train(words, vocab, count);
    return model({vocab, merges, unk_token: '<unk>', ...fields});
}

const kSpecials = [added(0, '<unk>', {special: true}), added(1, '<s>', {special: true}), added(2, '</s>', {special: true})];
const kLlamaDecoder = {type: 'Sequence', decoders: [{type: 'Replace', pattern: {String: '▁'}, content: ' '}, {type: 'ByteFallback'},
                                                    {type: 'Fuse'}, {type: 'Strip', content: ' ', start: 1, stop: 0}]};
const kLlamaNormalizer = {type: 'Sequence', normalizers: [{type: 'Prepend', prepend: '▁'}, {type: 'Replace', pattern: {String: ' '}, content: '▁'}]};
const byteLevel = (fields = {}) => ({type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true, ...fields});
const split = (Regex, behavior = 'Isolated', invert = false) => ({type: 'Split', pattern: {Regex}, behavior, invert});
const template = (before, after = []) => {
    const names = [...before, ...after];
    return {type: 'TemplateProcessing',
            single: [...before.map((t) => ({SpecialToken: {id: t[0], type_id: 0}})), {Sequence: {id: 'A', type_id: 0}}, ...after.map((t) => ({SpecialToken: {id: t[0], type_id: 0}}))],
            pair: [{Sequence: {id: 'A', type_id: 0}}, {Sequence: {id: 'B', type_id: 1}}],
            special_tokens: Object.fromEntries(names.map((t) => [t[0], {id: t[0], ids: [t[1]], tokens: [t[0]]}]))};
};

const kLlama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const kQwen2 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const kO200k = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const kDeepSeek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

export function makeTokenizers() {
    const end = (m) => Object.keys(m.vocab).length;
    const all = {};
    const bytes = byteLevelModel(300), pairs = byteLevelModel(300, {ignore_merges: true}, false);
    const pieces = sentencePieceModel(200, {byte_fallback: true, fuse_unk: true});
    const endOfText = added(end(bytes), '<|endoftext|>', {special: true});

    all.gpt2 = tokenizer({model: bytes, added_tokens: [endOfText], pre_tokenizer: byteLevel(), post_processor: byteLevel(), decoder: byteLevel()});
    all.gpt2_prefix_space = tokenizer({model: bytes, added_tokens: [endOfText], pre_tokenizer: byteLevel({add_prefix_space: true}), decoder: byteLevel()});
    all.neox = tokenizer({model: bytes, normalizer: {type: 'NFC'}, pre_tokenizer: byteLevel(), decoder: byteLevel(),
        added_tokens: [endOfText, added(end(bytes) + 1, '      ', {normalized: true}), added(end(bytes) + 2, '  ', {normalized: true}), added(end(bytes) + 3, 'é!', {normalized: true})]});
    all.nfd = tokenizer({model: bytes, normalizer: {type: 'Sequence', normalizers: [{type: 'NFD'}, {type: 'ByteLevel'}]}, decoder: byteLevel()});
    const bos = ['<|begin_of_text|>', end(pairs)], eos = ['<|end_of_text|>', end(pairs) + 1];
    all.llama3 = tokenizer({model: pairs, added_tokens: [added(bos[1], bos[0], {special: true}), added(eos[1], eos[0], {special: true})],
        pre_tokenizer: {type: 'Sequence', pretokenizers: [split(kLlama3), byteLevel({use_regex: false})]},
        post_processor: {type: 'Sequence', processors: [byteLevel({trim_offsets: false}), template([bos], [eos])]}, decoder: byteLevel()});
    all.qwen2 = tokenizer({model: bytes, normalizer: {type: 'NFC'}, added_tokens: [endOfText, added(end(bytes) + 1, '<|im_start|>', {special: true})],
        pre_tokenizer: {type: 'Sequence', pretokenizers: [split(kQwen2), byteLevel({use_regex: false, trim_offsets: false})]}, decoder: byteLevel()});
    all.o200k = tokenizer({model: bytes, pre_tokenizer: {type: 'Sequence', pretokenizers: [split(kO200k, 'Removed', true), byteLevel({use_regex: false})]}, decoder: byteLevel()});
    all.deepseek = tokenizer({model: bytes, decoder: byteLevel(), pre_tokenizer: {type: 'Sequence', pretokenizers: [
        split('\\p{N}{1,3}'), split('[一-龥぀-ゟ゠-ヿ]+'), split(kDeepSeek), byteLevel({use_regex: false})]}});
    all.starcoder = tokenizer({model: bytes, decoder: byteLevel(), pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'Digits', individual_digits: true}, byteLevel()]}});
    all.digit_runs = tokenizer({model: bytes, decoder: byteLevel(), pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'Digits', individual_digits: false}, {type: 'Punctuation', behavior: 'Contiguous'}, byteLevel({use_regex: false})]}});
    all.whitespace = tokenizer({model: bytes, decoder: byteLevel(), pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'Whitespace'}, byteLevel({use_regex: false})]}});
    all.whitespace_split = tokenizer({model: bytes, decoder: byteLevel(), pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'WhitespaceSplit'}, {type: 'Punctuation', behavior: 'Isolated'}, byteLevel({use_regex: false, add_prefix_space: true})]}});
    for (const behavior of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'])
        for (const invert of [false, true])
            all[`split_${behavior}${invert ? '_inverted' : ''}`] = tokenizer({model: bytes, decoder: byteLevel(),
                pre_tokenizer: {type: 'Sequence', pretokenizers: [split('[\\s\\d]|e', behavior, invert), byteLevel({use_regex: false})]}});
    all.shorthands = tokenizer({model: bytes, decoder: byteLevel(), pre_tokenizer: {type: 'Sequence', pretokenizers: [
        split('\\W\\w|[\\S&]\\h|\\D\\d|\\P{L}\\p{^N}|\\H$|^\\w', 'Isolated'), byteLevel({use_regex: false})]}});

    all.llama = tokenizer({model: pieces, added_tokens: kSpecials, normalizer: kLlamaNormalizer, post_processor: template([['<s>', 1]]), decoder: kLlamaDecoder});
    all.llama_some_bytes = tokenizer({model: sentencePieceModel(200, {bytes: 150, byte_fallback: true, fuse_unk: true, drop: 'ze世'}), added_tokens: kSpecials,
        normalizer: kLlamaNormalizer, post_processor: template([['<s>', 1]], [['</s>', 2]]), decoder: kLlamaDecoder});
    all.unknown_fused = tokenizer({model: sentencePieceModel(200, {bytes: 0, fuse_unk: true, drop: 'ze世'}), added_tokens: kSpecials, normalizer: kLlamaNormalizer, decoder: kLlamaDecoder});
    all.unknown_single = tokenizer({model: sentencePieceModel(200, {bytes: 0, drop: 'ze世'}), added_tokens: kSpecials, normalizer: kLlamaNormalizer, decoder: kLlamaDecoder});
    all.unknown_dropped = tokenizer({model: sentencePieceModel(200, {bytes: 0, drop: 'ze世', unk_token: null}), normalizer: kLlamaNormalizer, decoder: kLlamaDecoder});
    for (const scheme of ['always', 'first', 'never'])
        for (const whole of [false, true]) {
            const metaspace = {type: 'Metaspace', replacement: '▁', prepend_scheme: scheme, split: !whole};
            all[`metaspace_${scheme}${whole ? '_whole' : ''}`] = tokenizer({model: pieces, added_tokens: kSpecials, pre_tokenizer: metaspace, decoder: metaspace});
        }
    all.gemma = tokenizer({model: pieces, added_tokens: kSpecials, normalizer: {type: 'Replace', pattern: {String: ' '}, content: '▁'},
        pre_tokenizer: {type: 'Split', pattern: {String: ' '}, behavior: 'MergedWithPrevious', invert: false}, post_processor: template([['<s>', 1]]),
        decoder: {type: 'Sequence', decoders: [{type: 'Replace', pattern: {String: '▁'}, content: ' '}, {type: 'ByteFallback'}, {type: 'Fuse'}]}});
    all.strip_both = tokenizer({model: pieces, added_tokens: kSpecials,
        normalizer: {type: 'Sequence', normalizers: [{type: 'Strip', strip_left: true, strip_right: true}, {type: 'Replace', pattern: {Regex: '\\s{2,}'}, content: ' '}, {type: 'Replace', pattern: {Regex: 'e(?=l)|\\d+'}, content: '<n>'}]},
        decoder: {type: 'Sequence', decoders: [{type: 'ByteFallback'}, {type: 'Replace', pattern: {Regex: '[aeiou]'}, content: '*'}, {type: 'Fuse'}, {type: 'Strip', content: 't', start: 2, stop: 0}]}});
    all.strip_pieces = tokenizer({model: pieces, added_tokens: kSpecials, normalizer: kLlamaNormalizer,
        decoder: {type: 'Sequence', decoders: [{type: 'Strip', content: 'e', start: 0, stop: 1}, {type: 'Strip', content: '▁', start: 1, stop: 0}, {type: 'ByteFallback'}]}});
    all.no_decoder = tokenizer({model: pieces, added_tokens: kSpecials, normalizer: kLlamaNormalizer});

    const flags = [added(end(bytes), '<left>', {lstrip: true}), added(end(bytes) + 1, '<right>', {rstrip: true}), added(end(bytes) + 2, '<word>', {single_word: true}),
                   added(end(bytes) + 3, '<both>', {lstrip: true, rstrip: true, special: true}), added(end(bytes) + 4, '<wo', {special: true}), added(end(bytes) + 5, 'girl', {single_word: true, normalized: true}),
                   added(end(bytes) + 6, 'é', {normalized: true, rstrip: true}), added(end(bytes) + 7, 'ü'), added(end(bytes) + 8, 'the '), added(end(bytes) + 9, 'the')];
    all.added_flags = tokenizer({model: bytes, added_tokens: flags, normalizer: {type: 'NFC'}, pre_tokenizer: byteLevel(), decoder: byteLevel()});
    all.added_in_sentencepiece = tokenizer({model: pieces, normalizer: kLlamaNormalizer, decoder: kLlamaDecoder, post_processor: template([['<s>', 1]]),
        added_tokens: [...kSpecials, ...flags.map((t, i) => ({...t, id: end(pieces) + i})), added(end(pieces) + 20, 'a time', {normalized: true}), added(end(pieces) + 30, '[MASK]', {lstrip: true, special: true})]});
    all.roberta = tokenizer({model: bytes, added_tokens: flags, pre_tokenizer: byteLevel({add_prefix_space: true}), decoder: byteLevel(),
        post_processor: {type: 'RobertaProcessing', sep: ['<both>', end(bytes) + 3], cls: ['<wo', end(bytes) + 4], trim_offsets: true, add_prefix_space: true}});

    const suffixed = {'<unk>': 0};
    for (const c of 'abcdefghijklmnopqrstuvwxyz') for (const affix of [c, c + '</w>', '##' + c]) suffixed[affix] = Object.keys(suffixed).length;
    const suffixVocab = {...suffixed, 'th': 100, 'the</w>': 101, 'on</w>': 102};
    all.end_of_word = tokenizer({model: model({vocab: suffixVocab, merges: ['t h', 'th e</w>', 'o n</w>'], unk_token: '<unk>', end_of_word_suffix: '</w>'}), pre_tokenizer: {type: 'Whitespace'}});
    all.continuing_prefix = tokenizer({model: model({vocab: {...suffixed, 'th': 100, 'the': 101, '##on': 102}, merges: ['t ##h', 'th ##e', '##o ##n'], unk_token: '<unk>', continuing_subword_prefix: '##'}), pre_tokenizer: {type: 'Whitespace'}});
    return all;
}
