// The lengths in bytes of the parts into which Hugging Face's own library cuts texts by expressions in Oniguruma's syntax (the
// pre-tokenizer Split, "Isolated"); null where it refuses an expression. The texts and the expressions are those of the file.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_expressions.mjs expressions.json
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const file = process.argv[2];
const {texts, expressions} = JSON.parse(readFileSync(file, 'utf8'));
const ascii = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
// A token for each character, and one for it at the end of a part.
const tokens = ['<unk>', ...[...new Set([...texts.join('')])].flatMap((c) => [c, c + '</w>'])];
const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
const model = {type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: '</w>', fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab, merges: []};
const lines = [];
for (const [Regex] of expressions) {
    let parts = [];
    try {
        const oracle = Tokenizer.fromString(JSON.stringify({version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: {type: 'Split', pattern: {Regex}, behavior: 'Isolated', invert: false}, post_processor: null, decoder: null, model}));
        for (const text of texts) {
            const lengths = [];
            let length = 0;
            for (const id of (await oracle.encode(text)).getIds()) {
                length += Buffer.byteLength(tokens[id].replace('</w>', ''));
                if (!tokens[id].endsWith('</w>')) continue;
                lengths.push(length);
                length = 0;
            }
            parts.push(lengths);
        }
    } catch {
        parts = null;
    }
    lines.push(ascii([Regex, parts]));
}
writeFileSync(file, `{"made_by":"tokenizers 0.23.2","texts":${ascii(texts)},\n"expressions":[\n${lines.join(',\n')}\n]}\n`);
