// Which characters Hugging Face's tokenizers take for letters, digits and so on: its regular expressions follow a newer
// Unicode than PCRE2 may. And what BERT's normalizer makes of each character: its classes are older. Writes classes.json,
// for make_additions.py and to compare with engine/text/bert_normalizer.cpp.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_classes.mjs
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const expressions = {w: '\\w', Alphabetic: '\\p{Alphabetic}', L: '\\p{L}', Lu: '\\p{Lu}', Ll: '\\p{Ll}', Lm: '\\p{Lm}', Lo: '\\p{Lo}', N: '\\p{N}', Nd: '\\p{Nd}',
                     M: '\\p{M}', Mn: '\\p{Mn}', Mc: '\\p{Mc}', P: '\\p{P}', S: '\\p{S}'};
const kCodes = [];
for (let c = 1; c < 0x110000; c++) if (c < 0xd800 || c > 0xdfff) kCodes.push(c);
const normalizer = (json) => Tokenizer.fromString(JSON.stringify({version: '1.0', added_tokens: [], pre_tokenizer: null, post_processor: null, decoder: null,
    normalizer: json, model: {type: 'BPE', vocab: {}, merges: []}})).getNormalizer();
function rangesWhere(isMember) {
    const ranges = [];
    for (const c of kCodes) {
        if (!isMember(String.fromCodePoint(c))) continue;
        const last = ranges.at(-1);
        if (last && last[1] === c - 1) last[1] = c;
        else ranges.push([c, c]);
    }
    return ranges;
}
const all = kCodes.map((c) => String.fromCodePoint(c)).join('');
const classes = {};
for (const [name, expression] of Object.entries(expressions)) {
    const left = new Set(normalizer({type: 'Replace', pattern: {Regex: expression}, content: ''}).normalizeString(all));
    classes[name] = rangesWhere((character) => !left.has(character));
}
const bert = (step) => normalizer({type: 'BertNormalizer', clean_text: false, handle_chinese_chars: false, strip_accents: false, lowercase: false, [step]: true});
const cleaned = bert('clean_text'), stripped = bert('strip_accents'), lowered = bert('lowercase');
const controls = rangesWhere((character) => cleaned.normalizeString(character) === '');
const marks = rangesWhere((character) => stripped.normalizeString(character) === '');
const lower = kCodes.map((c) => [c, lowered.normalizeString(String.fromCodePoint(c))]).filter(([c, text]) => text !== String.fromCodePoint(c))
                    .map(([c, text]) => [c, ...[...text].map((letter) => letter.codePointAt(0))]);
const version = JSON.parse(readFileSync('node_modules/tokenizers/package.json')).version;
writeFileSync('classes.json', JSON.stringify({tokenizers: version, classes, controls, marks, lower}));
