#!/usr/bin/python3
"""Makes the bundled typeface from Inter: a subset of its characters, with digits of one width.

Usage: make.py [FOLDER]   (needs python3-fonttools and fonts-inter; FOLDER holds the files of fonts-inter)
"""

import sys
from pathlib import Path

from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FAMILY = "Attention Lab Sans"
WEIGHTS = ["Regular", "Medium", "SemiBold", "Bold"]
RANGES = [
    (0x0020, 0x007E), (0x00A0, 0x017F), (0x0192, 0x0192), (0x0218, 0x021B), (0x0237, 0x0237), (0x02C6, 0x02DD),
    (0x0300, 0x0312), (0x0326, 0x0328), (0x0370, 0x03FF), (0x0400, 0x04FF),
    (0x2000, 0x206F), (0x2070, 0x209F), (0x20AC, 0x20AC), (0x2116, 0x2122),
    (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2300, 0x23FF), (0x2400, 0x2426),  # arrows, operators, technical, open box
    (0x2500, 0x25FF), (0x2600, 0x27BF),  # shapes, warning sign, check marks
]
# Not "calt": it draws "->" as an arrow and "2x3" with a multiplication sign, but tokens must show what they are.
FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl"]


def tabular_digits(font):
    """Glyphs of the feature "tnum" by the character that they replace, for digits alone."""
    table = font["GSUB"].table
    lookups = {i for record in table.FeatureList.FeatureRecord if record.FeatureTag == "tnum"
               for i in record.Feature.LookupListIndex}
    tabular = {}
    for index in lookups:
        for sub in table.LookupList.Lookup[index].SubTable:
            tabular |= getattr(sub, "ExtSubTable", sub).mapping
    cmap = font.getBestCmap()
    return {digit: tabular[cmap[digit]] for digit in range(ord("0"), ord("9") + 1)}


def set_advance(font, glyph, advance):
    """Gives a glyph another advance width, in both tables that hold it."""
    outlines = font["CFF "].cff.topDictIndex[0].CharStrings
    private, subroutines = outlines[glyph].private, outlines[glyph].globalSubrs
    pen = T2CharStringPen(advance - private.nominalWidthX, None)
    font.getGlyphSet()[glyph].draw(pen)
    outlines[glyph] = pen.getCharString(private, subroutines)
    font["hmtx"][glyph] = (advance, font["hmtx"][glyph][1])


def average_width(font):
    """The width of an average character of English, by which programs size fields; Inter's counts capitals and signs."""
    # The weights of the OpenType table OS/2, version 2, per 1000.
    shares = {" ": 166, "a": 64, "b": 14, "c": 27, "d": 35, "e": 100, "f": 20, "g": 14, "h": 42, "i": 63, "j": 3, "k": 6,
              "l": 35, "m": 20, "n": 56, "o": 56, "p": 17, "q": 4, "r": 49, "s": 56, "t": 71, "u": 31, "v": 10, "w": 18,
              "x": 3, "y": 18, "z": 2}
    cmap = font.getBestCmap()
    total = sum(share * font["hmtx"][cmap[ord(letter)]][0] for letter, share in shares.items())
    return round(total / 1000)


def make(source, target, weight):
    font = TTFont(source, recalcTimestamp=False)
    digits = tabular_digits(font)
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap.update(digits)

    options = Options()
    options.layout_features = FEATURES
    options.hinting = True
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 16, 17]
    options.notdef_outline = True
    options.recalc_timestamp = False
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
    subsetter.subset(font)

    # A name of its own: an installed Inter has digits of several widths, and "Inter" is a trademark.
    compact = FAMILY.replace(" ", "")
    is_linked = weight in ("Regular", "Bold")  # the styles that old programs know as one family
    names = {
        1: FAMILY if is_linked else f"{FAMILY} {weight}",
        2: weight if is_linked else "Regular",
        3: f"{compact}-{weight}: from {font['name'].getDebugName(3)}",
        4: f"{FAMILY} {weight}",
        6: f"{compact}-{weight}",
        16: FAMILY,
        17: weight,
    }
    for record in list(font["name"].names):
        if record.nameID in names:
            font["name"].removeNames(nameID=record.nameID)
    for identity, text in names.items():
        font["name"].setName(text, identity, 3, 1, 0x409)
    cff = font["CFF "].cff
    cff.fontNames = [names[6]]
    cff.topDictIndex[0].FullName = names[4]
    cff.topDictIndex[0].FamilyName = FAMILY

    # Rounding between the weights leaves a unit or two of 2816 between some digits.
    glyphs = [font.getBestCmap()[digit] for digit in digits]
    advance = max(font["hmtx"][glyph][0] for glyph in glyphs)
    for glyph in glyphs:
        if font["hmtx"][glyph][0] != advance:
            set_advance(font, glyph, advance)
    font["OS/2"].xAvgCharWidth = average_width(font)
    font.save(target)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/opentype/inter")
    for weight in WEIGHTS:
        target = Path(__file__).parent / f"AttentionLabSans-{weight}.otf"
        make(folder / f"Inter-{weight}.otf", target, weight)
        print(target.name, target.stat().st_size, "bytes")
