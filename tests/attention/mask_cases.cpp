#include "tests/attention/mask_cases.h"

#include "engine/attention/mask/catalogue.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace attn::test {
namespace {

int64_t rankOf(const Arguments& order, int64_t token) {
    const auto found = std::find(order.begin(), order.end(), token);
    return found == order.end() ? token : found - order.begin();
}

using Cells = bool (*)(const Arguments& a, int64_t i, int64_t j);
/// A rule for two patches of a picture, after the leading tokens that the last argument counts.
template <Cells seesPatch> bool seesGrid(const Arguments& a, int64_t query, int64_t key) {
    const int64_t leading = a.back(), i = query - leading, j = key - leading;
    if (i < 0 || j < 0) return true;
    return i < a[0] * a[1] && j < a[0] * a[1] && seesPatch(a, i, j);
}
bool seesRow(const Arguments& a, int64_t i, int64_t j) { return i / a[1] == j / a[1]; }
bool seesColumn(const Arguments& a, int64_t i, int64_t j) { return i % a[1] == j % a[1]; }
bool seesAxial(const Arguments& a, int64_t i, int64_t j) { return seesRow(a, i, j) || seesColumn(a, i, j); }

bool seesLocal2d(const Arguments& a, int64_t i, int64_t j) {
    const int64_t columns = a[1], height = a[2], width = a[3], up = a[4], side = a[5];
    const int64_t y = i / columns - i / columns % height, x = i % columns - i % columns % width;
    return j / columns >= y - up && j / columns < y + height && j % columns >= x - side &&
           j % columns < x + width + side;
}

/// The first patches of a picture in the order in which they are written, block by block: found by going through the
/// blocks.
std::vector<int64_t> writtenBlockByBlock(int64_t rows, int64_t columns, int64_t height, int64_t width) {
    std::vector<int64_t> order;
    for (int64_t top = 0; top < rows; top += height)
        for (int64_t left = 0; left < columns; left += width)
            for (int64_t y = top; y < std::min(top + height, rows); ++y)
                for (int64_t x = left; x < std::min(left + width, columns); ++x) {
                    order.push_back(y * columns + x);
                    if (order.size() == 200) return order; // tests look at fewer tokens
                }
    return order;
}
/// Both orders of the text: the last argument tells them apart, the one before it counts the leading tokens.
bool seesLocal2dText(const Arguments& a, int64_t query, int64_t key) {
    static Arguments last, rowByRow; // to find the order takes long
    static std::vector<int64_t> order;
    if (last != a) {
        last = a;
        rowByRow.assign(a.begin(), a.end() - 1);
        order = a.back() == 0 ? std::vector<int64_t>{} : writtenBlockByBlock(a[0], a[1], a[2], a[3]);
    }
    const int64_t leading = a[6];
    const auto inPicture = [&](int64_t token) {
        const int64_t nth = token - leading;
        return nth < 0 || nth >= std::ssize(order) ? token : leading + order[static_cast<size_t>(nth)];
    };
    return seesGrid<seesLocal2d>(rowByRow, inPicture(query), inPicture(key));
}

int64_t floorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
bool seesShifted(const Arguments& a, int64_t i, int64_t j) {
    const int64_t columns = a[1], window = a[2], shift = a[3];
    return floorDivide(i / columns - shift, window) == floorDivide(j / columns - shift, window) &&
           floorDivide(i % columns - shift, window) == floorDivide(j % columns - shift, window);
}

bool seesSummary(const Arguments& a, int64_t i, int64_t j) { return j <= i && j % a[0] >= a[0] - a[1]; }
bool seesDilated(const Arguments& a, int64_t i, int64_t j) {
    return std::abs(i - j) < a[0] * a[1] && (i - j) % a[1] == 0;
}

bool seesEtc(const Arguments& a, int64_t i, int64_t j) { return i < a[0] || j < a[0] || std::abs(i - j) <= a[1]; }

int64_t segmentOf(int64_t count, int64_t length, int64_t token) {
    for (int64_t segment = 0; segment < count; ++segment) {
        const int64_t first = count + segment * length;
        if (token == segment || (token >= first && token < first + length)) return segment;
    }
    return -1;
}
bool seesOwnSegment(const Arguments& a, int64_t i, int64_t j) {
    const int64_t own = segmentOf(a[0], a[1], i);
    return own >= 0 && own == segmentOf(a[0], a[1], j);
}

bool seesPainted(const Arguments& a, int64_t i, int64_t j) {
    if (i >= a[0] || j >= a[0]) return false;
    int64_t cell = i * a[0] + j;
    for (size_t run = 1; run < a.size(); ++run) {
        if (cell < a[run]) return run % 2 == 0;
        cell -= a[run];
    }
    return false;
}

std::vector<double> reversed(size_t count) {
    std::vector<double> order(count);
    std::iota(order.rbegin(), order.rend(), 0);
    return order;
}

} // namespace

const std::vector<MaskCase>& maskCases() {
    static const std::vector<std::vector<double>> orders{
        {0}, {1, 0}, {3, 0, 4, 1, 2}, {0, 1, 2, 3, 5, 4}, reversed(70)};
    static const std::vector<MaskCase> cases{
        {"full", "full", 4, 4, "#### #### #### ####", [](const Arguments&, int64_t, int64_t) { return true; }},
        {"causal", "causal", 4, 4, "#... ##.. ###. ####",
         [](const Arguments&, int64_t i, int64_t j) { return j <= i; }},
        {"prefix", "prefix(2)", 4, 4, "##.. ##.. ###. ####",
         [](const Arguments& a, int64_t i, int64_t j) { return j <= i || j < a[0]; }},
        {"xlnet", "xlnet(2, 0, 3, 1)", 4, 4, "#.#. #### ..#. #.##",
         [](const Arguments& a, int64_t i, int64_t j) { return rankOf(a, j) <= rankOf(a, i); }, orders},
        {"xlnet_query", "xlnet_query(2, 0, 3, 1)", 4, 4, "..#. #.## .... #.#.",
         [](const Arguments& a, int64_t i, int64_t j) { return rankOf(a, j) < rankOf(a, i); }, orders},
        {"window", "window(2)", 4, 4, "##.. ###. .### ..##",
         [](const Arguments& a, int64_t i, int64_t j) { return std::abs(i - j) < a[0]; }},
        {"local1d", "local1d(2, 1)", 4, 4, "##.. ##.. .### .###",
         [](const Arguments& a, int64_t i, int64_t j) {
             return j >= i / a[0] * a[0] - a[1] && j < (i / a[0] + 1) * a[0];
         }},
        {"local2d", "local2d(2, 4, 1, 2, 1, 1)", 8, 8,
         "###..... ###..... .###.... .###.... ###.###. ###.###. .###.### .###.###", seesLocal2dText},
        {"dilated", "dilated(2, 2)", 6, 6, "#.#... .#.#.. #.#.#. .#.#.# ..#.#. ...#.#", seesDilated},
        {"strided", "strided(2)", 6, 6, "#..... ##.... ###... .###.. #.###. .#.###",
         [](const Arguments& a, int64_t i, int64_t j) { return j <= i && (i - j <= a[0] || (i - j) % a[0] == 0); }},
        {"fixed", "fixed(3, 1)", 6, 6, "#..... ##.... ###... ..##.. ..###. ..####",
         [](const Arguments& a, int64_t i, int64_t j) {
             return j <= i && (i / a[0] == j / a[0] || j % a[0] >= a[0] - a[1]);
         }},
        {"summary", "summary(3, 1)", 6, 6, "...... ...... ..#... ..#... ..#... ..#..#", seesSummary},
        {"blocks", "blocks(2)", 4, 4, "##.. ##.. ..## ..##",
         [](const Arguments& a, int64_t i, int64_t j) { return i / a[0] == j / a[0]; }},
        {"permuted_blocks", "permuted_blocks(2, 1, 0)", 4, 4, "..## ..## ##.. ##..",
         [](const Arguments& a, int64_t i, int64_t j) {
             const auto block = static_cast<size_t>(i / a[0]) + 1;
             return j / a[0] == (block < a.size() ? a[block] : i / a[0]);
         },
         orders},
        {"global", "global(1)", 4, 4, "#### #... #... #...",
         [](const Arguments& a, int64_t i, int64_t j) { return i < a[0] || j < a[0]; }},
        // The draws of these two were worked out by an independent script in Python.
        {"random", "random(2, 1)", 4, 4, "#..# ..## ..## .##."},
        {"g2g", "g2g(2)", 4, 4, "##.. ##.. .... ....",
         [](const Arguments& a, int64_t i, int64_t j) { return i < a[0] && j < a[0]; }},
        {"g2l", "g2l(2)", 4, 4, "..## ..## .... ....",
         [](const Arguments& a, int64_t i, int64_t j) { return i < a[0] && j >= a[0]; }},
        {"l2g", "l2g(2)", 4, 4, ".... .... ##.. ##..",
         [](const Arguments& a, int64_t i, int64_t j) { return i >= a[0] && j < a[0]; }},
        {"l2l", "l2l(1, 1)", 4, 4, ".... .##. .### ..##",
         [](const Arguments& a, int64_t i, int64_t j) { return i >= a[0] && j >= a[0] && std::abs(i - j) <= a[1]; }},
        {"etc", "etc(1, 1)", 4, 4, "#### ###. #### #.##", seesEtc},
        {"g2l_hard", "g2l_hard(2, 2)", 6, 6, "..##.. ....## ...... ...... ...... ......",
         [](const Arguments& a, int64_t i, int64_t j) { return i < a[0] && j >= a[0] && seesOwnSegment(a, i, j); }},
        {"etc_hard", "etc_hard(2, 1, 2)", 6, 6, "####.. ##..## ####.. #####. ##.### ##..##",
         [](const Arguments& a, int64_t i, int64_t j) {
             if (j < a[0]) return true;
             return i < a[0] ? segmentOf(a[0], a[2], i) == segmentOf(a[0], a[2], j) : std::abs(i - j) <= a[1];
         }},
        {"own_segment", "own_segment(2, 2)", 7, 7, "#.##... .#..##. #.##... #.##... .#..##. .#..##. .......",
         seesOwnSegment},
        {"longformer", "longformer(2, 2, 1)", 5, 5, "##### ##.#. #.#.# ##.#. #.#.#",
         [](const Arguments& a, int64_t i, int64_t j) { return seesDilated(a, i, j) || i < a[2] || j < a[2]; }},
        {"bigbird", "bigbird(1, 1, 1, 1, 5)", 6, 6, "###### ###... #.#.#. #..##. #...## ##...#"},
        {"row", "row(2, 2)", 4, 4, "##.. ##.. ..## ..##", seesGrid<seesRow>},
        {"column", "column(2, 2)", 4, 4, "#.#. .#.# #.#. .#.#", seesGrid<seesColumn>},
        {"axial", "axial(2, 2, 1)", 5, 5, "##### ####. ###.# ##.## #.###", seesGrid<seesAxial>},
        {"shifted", "shifted(3, 3, 2, 1)", 9, 9,
         "#........ .##...... .##...... ...#..#.. ....##.## ....##.## ...#..#.. ....##.## ....##.##",
         seesGrid<seesShifted>},
        {"painted",
         "painted(4, 0, 1, 4, 1, 4, 1, 4, 1)",
         4,
         4,
         "#... .#.. ..#. ...#",
         seesPainted,
         {{0}, {1}, {0, 16}, {0, 0, 0, 1}, {3, 1, 0, 2, 5, 5}, {16}}},
    };
    return cases;
}

const MaskCase* caseOf(std::string_view id) {
    const auto found = std::ranges::find(maskCases(), id, &MaskCase::id);
    return found == maskCases().end() ? nullptr : &*found;
}

std::vector<std::vector<double>> valuesToTry(const Part& part) {
    const size_t scalars = part.params.size() - (part.takesList ? 1 : 0);
    std::vector<std::vector<double>> all{{}};
    for (size_t p = 0; p < scalars; ++p) {
        const Param& param = part.params[p];
        std::vector<std::vector<double>> longer;
        for (const std::vector<double>& values : all) {
            // Limits cross with one another: a window wider than the text in a grid of one column, say.
            std::vector<double> tried{param.minimum, param.initial, param.initial + param.step, param.maximum};
            if (scalars <= 3) tried.insert(tried.end(), {param.minimum + param.step, param.minimum + 30 * param.step});
            if (p + part.mask.optionalParams >= scalars)
                tried = {param.initial, std::min(param.minimum + 2, param.maximum)};
            for (double value : tried) {
                longer.push_back(values);
                longer.back().push_back(value);
            }
        }
        all = std::move(longer);
    }
    if (!part.takesList) return all;
    std::vector<std::vector<double>> withLists;
    for (const std::vector<double>& values : all)
        for (const std::vector<double>& list : caseOf(part.id)->lists) {
            withLists.push_back(values);
            withLists.back().insert(withLists.back().end(), list.begin(), list.end());
        }
    return withLists;
}

} // namespace attn::test
