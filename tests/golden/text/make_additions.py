"""Prints kAdditions of engine/text/oniguruma_sets.cpp: python3 make_additions.py classes.json

classes.json is from make_classes.mjs. Needs Python 3.11, whose unicodedata is Unicode 14.
"""
import json
import sys
import unicodedata

assert unicodedata.unidata_version == "14.0.0"
with open(sys.argv[1], encoding="utf-8") as file:
    CLASSES = json.load(file)["classes"]


def newer(name):
    codes = {c for first, last in CLASSES[name] for c in range(first, last + 1)}
    return {c for c in codes if unicodedata.category(chr(c)) == "Cn"}


def entry(name, codes):
    ranges = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    lines = [""]
    for first, last in ranges:
        text = f"\\x{{{first:X}}}" + (f"-\\x{{{last:X}}}" if last > first else "")
        if len(lines[-1]) + len(text) > 104:
            lines.append("")
        lines[-1] += text
    print(f'    {{"{name}",')
    print("\n".join(f'     R"({line})"' for line in lines) + "},")


letters = ("Lu", "Ll", "Lm", "Lo")
for group in (*letters, "Mn", "Mc", "Nd"):
    entry(group, newer(group))
entry("No", newer("N") - newer("Nd"))
entry("P", newer("P"))
entry("S", newer("S"))
entry("Alphabetic", newer("Alphabetic").difference(*(newer(group) for group in letters)))
