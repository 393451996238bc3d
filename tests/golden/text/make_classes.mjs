// Which characters Hugging Face's tokenizers take for letters, digits and so on: its regular expressions follow a newer
// Unicode than PCRE2 may. Writes classes.json for make_unicode_tables.py.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_classes.mjs
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const expressions = {w: '\\w', Alphabetic: '\\p{Alphabetic}', L: '\\p{L}', Lu: '\\p{Lu}', Ll: '\\p{Ll}', Lm: '\\p{Lm}', Lo: '\\p{Lo}', N: '\\p{N}', Nd: '\\p{Nd}',
                     M: '\\p{M}', Mn: '\\p{Mn}', Mc: '\\p{Mc}', P: '\\p{P}', S: '\\p{S}'};
let all = '';
for (let c = 1; c < 0x110000; c++) if (c < 0xd800 || c > 0xdfff) all += String.fromCodePoint(c);
const classes = {};
for (const [name, expression] of Object.entries(expressions)) {
    const tokenizer = Tokenizer.fromString(JSON.stringify({version: '1.0', added_tokens: [], pre_tokenizer: null, post_processor: null, decoder: null,
        normalizer: {type: 'Replace', pattern: {Regex: expression}, content: ''}, model: {type: 'BPE', vocab: {}, merges: []}}));
    const left = new Set(tokenizer.getNormalizer().normalizeString(all));
    const ranges = [];
    for (let c = 1; c < 0x110000; c++) {
        if ((c >= 0xd800 && c <= 0xdfff) || left.has(String.fromCodePoint(c))) continue;
        const last = ranges.at(-1);
        if (last && last[1] === c - 1) last[1] = c;
        else ranges.push([c, c]);
    }
    classes[name] = ranges;
}
const version = JSON.parse(readFileSync('node_modules/tokenizers/package.json')).version;
writeFileSync('classes.json', JSON.stringify({tokenizers: version, classes}));
