// Ids and decoded texts by Hugging Face's own library, for small tokenizers of every supported shape and texts in many scripts.
//   npm install --ignore-scripts tokenizers@0.23.2 && node make_goldens.mjs goldens.json [random texts, default 24] [seed]
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
import {makeTokenizers} from './tokenizers.mjs';
const require = createRequire(process.cwd() + '/');
const {Tokenizer} = require('tokenizers');

const kTexts = ['', ' ', '  ', '\n', 'Once upon a time', 'naïve 世界\n x', ' leading and trailing ', "don't we've they're I'M HE'LL 'sit o'clock ''s 'ſ",
    'a  b   c    d\t\te\n\n\nf \n g  \n', 'one 1 two 22 three 333 four 4444 ½ ² Ⅷ ٣٤٥ 一二三 𝟘𝟙', 'e\u0301 e\u0301\u0323 e\u0323\u0301 \u0301a ü U\u0308 ﬁ Å \u212b 각 \u1100\u1161\u11a8 \u{11935}\u{11930}',
    '😀👍🏽👩‍👩‍👧🇩🇪 ❤️ #️⃣', 'नमस्ते दुनिया ครับ မြန်မာ ᠮᠣᠩ᠎ᠭᠣᠯ', '\u00a0x\u2003y\u3000z\u180e\u200b\u200dw\u0085v\ufeffu\u2028t', 'x\u0000y\u0001\u007f\u0080\u{10ffff}\u{e000}',
    '\u{1e6c0}\u{32000} \u{16d40}a \u{10ec2}b \u{11f50}1 \u{1e4f0} \u{1cc00}', '<s>hi</s> <|endoftext|><|begin_of_text|>x<|im_start|>', ' <left> <right> x<word> <word> <word>y <both>  <wo <word',
    'the girl, girls; thegirl the  the the<right>  <left>é  é!e\u0301  x ü', 'a time  [MASK]▁x ▁▁ [MASK] a time', '<0x41><0xE4> <unk>▁', 'if (x != y) {\r\n\treturn "a\\b";\r\n}  // $%^&*()_+-=[]{}|;:,.<>?/~`',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '                                  x', 'zzz eee zez世 世', 'the on than theon xyz'];
const kPools = ['the', 'girl', 'Once', ' ', ' ', ' ', '  ', '\n', '\r\n', '\t', "'s", "'LL", "'", 'é', 'e\u0301', '\u0323', 'ß', 'Ж', 'мир', 'Σ', 'ς', '世', '界', 'こ', 'ん', 'ア', '안', '\u1100', '\u1161',
    'न', 'म', '\u094d', 'ก', 'ั', 'م', 'ش', 'א', '😀', '👍', '🏽', '\u200d', '\ufe0f', '1', '23', '٣', '½', '²', 'Ⅳ', '.', ',', '!?', '...', '-', '_', '@', '#', '$', '&', '(', ')', '[', ']', '<', '>', '/', '\\', '"', '`', '~', '€', '°', '™',
    '\u00a0', '\u2003', '\u3000', '\u180e', '\u0085', '\u200b', '\u0000', '\u007f', '▁', 'z', 'x', 'a', 'b', 'A', 'B', '<left>', '<right>', '<word>', '<both>', '<s>', '</s>', '<|endoftext|>', '[MASK]', '\u{1e6c0}', '\u{10ec2}', 'ǅ', 'ʰ', '\u{1f130}', 'K'];

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

const cases = [], modelTexts = [];
for (const [name, json] of Object.entries(makeTokenizers())) {
    const oracle = Tokenizer.fromString(JSON.stringify(json));
    // An empty list makes the library's Strip decoder panic.
    const decode = async (list, skip) => (list.length ? await oracle.decode(list, skip) : '');
    const ids = [], decoded = {}, decodedWhole = {};
    for (const [i, text] of texts.entries()) {
        const encoding = await oracle.encode(text);
        ids.push(encoding.getIds());
        decoded[i] = await decode(encoding.getIds(), true);
        const whole = await decode(encoding.getIds(), false);
        if (whole !== decoded[i]) decodedWhole[i] = whole;
        if (decoded[i] === text) delete decoded[i];
    }
    // Ids in any order: bytes that are no characters.
    const shuffled = [];
    for (let n = 0; n < 6; n++) {
        const list = Array.from({length: 12}, () => random(Object.keys(json.model.vocab).length));
        shuffled.push({ids: list, text: await oracle.decode(list, false)});
    }
    // Models are shared: each is written once.
    let model = modelTexts.indexOf(JSON.stringify(json.model));
    if (model < 0) model = modelTexts.push(JSON.stringify(json.model)) - 1;
    cases.push({name, tokenizer: {...json, model}, ids, decoded, decodedWhole, shuffled});
}
const version = JSON.parse(readFileSync('node_modules/tokenizers/package.json')).version;
const ascii = (json) => json.replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
writeFileSync(process.argv[2], ascii(`{"tokenizers": "${version}",\n"texts": ${JSON.stringify(texts)},\n"models": [\n${modelTexts.join(',\n')}\n],\n"cases": [\n${cases.map((c) => JSON.stringify(c)).join(',\n')}\n]}\n`));
