"""Writes engine/text/unicode_tables.cpp: python3 tests/golden/text/make_unicode_tables.py classes.json > engine/text/unicode_tables.cpp

Needs Python 3.11 (its unicodedata is Unicode 14) and perl (for each character's age). classes.json is from make_classes.mjs.
Hugging Face's normalizers follow Unicode 9, so newer characters have no decomposition and no combining class here; its
pre-tokenizer Punctuation follows Unicode 8.
"""
import json
import subprocess
import sys
import unicodedata

CODES = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
PERL = 'for (1..0x10FFFF) { next if $_ >= 0xD800 && $_ < 0xE000; print "$_\\n" if chr($_) =~ /\\p{Present_In: %s}/ }'


def assigned_in(version):
    result = subprocess.run(["perl", "-e", PERL % version], capture_output=True, text=True, check=True)
    return set(map(int, result.stdout.split()))


OLD = assigned_in("9.0")


def ranges(codes):
    result = []
    for code in sorted(codes):
        if result and result[-1][1] == code - 1:
            result[-1][1] = code
        else:
            result.append([code, code])
    return result


def rows(items, per_line):
    for i in range(0, len(items), per_line):
        yield "    " + " ".join(items[i:i + per_line])


def decompositions():
    for code in CODES:
        text = unicodedata.decomposition(chr(code))
        if code in OLD and text and not text.startswith("<"):
            parts = [int(part, 16) for part in text.split()] + [0]
            composes = unicodedata.normalize("NFC", unicodedata.normalize("NFD", chr(code))) == chr(code)
            yield f"{{0x{code:X}, 0x{parts[0]:X}, 0x{parts[1]:X}, {int(composes)}}},"


def combining_classes():
    classes = {}
    for code in CODES:
        if code in OLD and unicodedata.combining(chr(code)):
            classes.setdefault(unicodedata.combining(chr(code)), []).append(code)
    for first, last, value in sorted((a, b, value) for value, codes in classes.items() for a, b in ranges(codes)):
        yield f"{{0x{first:X}, 0x{last:X}, {value}}},"


def entry(name, codes):
    text = "".join(f"\\x{{{a:X}}}" + (f"-\\x{{{b:X}}}" if b > a else "") for a, b in ranges(codes))
    lines = [text[i:i + 110] for i in range(0, len(text), 110)]
    return f'    {{"{name}",\n' + "\n".join(f'     R"({line})"' for line in lines) + "},"


def additions(found):
    for name, given in found["classes"].items():
        codes = {c for first, last in given for c in range(first, last + 1)}
        yield entry(name, {c for c in codes if unicodedata.category(chr(c)) == "Cn"})
        if name == "P":
            yield entry("P since 9", codes - assigned_in("8.0"))


found = json.load(open(sys.argv[1], encoding="utf-8"))
print(f"""// Written by tests/golden/text/make_unicode_tables.py with Unicode {unicodedata.unidata_version} and tokenizers {found["tokenizers"]}.
#include "engine/text/unicode_tables.h"

#include <algorithm>
#include <iterator>

// clang-format off
namespace attn::unicode {{
namespace {{

constexpr Decomposition kDecompositions[] = {{""")
print("\n".join(rows(list(decompositions()), 5)))
print("};\n\nconstexpr CombiningClass kCombiningClasses[] = {")
print("\n".join(rows(list(combining_classes()), 6)))
print("""};

struct Additions {
    std::string_view property, ranges;
};

constexpr Additions kAdditions[] = {""")
print("\n".join(additions(found)))
print("""};

} // namespace

std::span<const Decomposition> decompositions() { return kDecompositions; }
std::span<const CombiningClass> combiningClasses() { return kCombiningClasses; }

std::string_view propertyAdditions(std::string_view property) {
    const auto found = std::ranges::find(kAdditions, property, &Additions::property);
    return found == std::end(kAdditions) ? std::string_view() : found->ranges;
}

} // namespace attn::unicode""")
