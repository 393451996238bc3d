"""Writes engine/text/unicode_tables.cpp: python3 tests/golden/text/make_unicode_tables.py classes.json > engine/text/unicode_tables.cpp

Needs Python 3.11 (its unicodedata is Unicode 14) and perl (for each character's age). classes.json is from make_classes.mjs.
Hugging Face's normalizers follow Unicode 9, so newer characters have no decomposition and no combining class here; its
pre-tokenizer Punctuation follows Unicode 8. The classes of BERT's normalizer are those that the library has.
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


def lowercase(mappings):
    """Runs of characters that lie the same distance from each other and from their lowercase."""
    runs = []
    for code, *lower in mappings:
        if len(lower) != 1:
            assert (code, lower) == (0x130, [0x69, 0x307]), "only the dotted capital I becomes two characters"
            continue
        distance, last = lower[0] - code, runs[-1] if runs else None
        if last and last[3] == distance and code - last[1] in ([last[2]] if last[2] else [1, 2]):
            last[1:3] = code, code - last[1]
        else:
            runs.append([code, code, 0, distance])
    for first, last, step, distance in runs:
        yield f"{{0x{first:X}, 0x{last:X}, {step or 1}, {distance}}},"


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

struct Range {
    char32_t first, last;
};

/// Every step-th character from first to last has its lowercase at this distance.
struct LowercaseRun {
    char32_t first, last, step;
    int32_t distance;
};

constexpr Additions kAdditions[] = {""")
print("\n".join(additions(found)))
for name, given in ("kBertControls", found["controls"]), ("kBertMarks", found["marks"]):
    print(f"}};\n\nconstexpr Range {name}[] = {{")
    print("\n".join(rows([f"{{0x{first:X}, 0x{last:X}}}," for first, last in given], 8)))
print("};\n\nconstexpr LowercaseRun kLowercase[] = {")
print("\n".join(rows(list(lowercase(found["lower"])), 6)))
print("""};

bool isIn(std::span<const Range> ranges, char32_t code) {
    const auto found = std::ranges::lower_bound(ranges, code, {}, &Range::last);
    return found != ranges.end() && code >= found->first;
}

} // namespace

std::span<const Decomposition> decompositions() { return kDecompositions; }
std::span<const CombiningClass> combiningClasses() { return kCombiningClasses; }

std::string_view propertyAdditions(std::string_view property) {
    const auto found = std::ranges::find(kAdditions, property, &Additions::property);
    return found == std::end(kAdditions) ? std::string_view() : found->ranges;
}

bool isBertControl(char32_t code) { return code == 0 || isIn(kBertControls, code); }
bool isBertMark(char32_t code) { return isIn(kBertMarks, code); }

char32_t lowercase(char32_t code) {
    const auto run = std::ranges::lower_bound(kLowercase, code, {}, &LowercaseRun::last);
    const bool isInRun = run != std::end(kLowercase) && code >= run->first && (code - run->first) % run->step == 0;
    return isInRun ? code + static_cast<char32_t>(run->distance) : code;
}

} // namespace attn::unicode""")
