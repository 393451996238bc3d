#include "tests/attention/random_masks.h"

#include "engine/attention/mask/catalogue.h"
#include "tests/attention/mask_cases.h"

#include <algorithm>

namespace attn::test {
namespace {

RandomMask randomTerm(std::mt19937& draws) {
    for (;;) {
        const MaskCase& chosen = maskCases()[draws() % maskCases().size()];
        if (chosen.sees == nullptr || !chosen.lists.empty()) continue;
        const Part& part = **std::ranges::find(maskParts(), chosen.id, &Part::id);
        std::vector<double> values;
        for (const Param& param : part.params) values.push_back(std::min(param.minimum + draws() % 9, param.maximum));
        const Arguments arguments(values.begin(), values.end());
        return {termText(part, values),
                [&chosen, arguments](int64_t i, int64_t j, int, int) { return chosen.sees(arguments, i, j); }};
    }
}

} // namespace

RandomMask randomMask(std::mt19937& draws, int depth) {
    if (depth == 0 || draws() % 4 == 0) return randomTerm(draws);
    RandomMask a = randomMask(draws, depth - 1);
    const std::string blank(draws() % 2, ' ');
    switch (draws() % 6) {
    case 0:
        return {"~" + blank + "(" + a.text + ")",
                [a](int64_t i, int64_t j, int head, int layer) { return !a.sees(i, j, head, layer); }};
    case 1:
        return {"( " + a.text + blank + ")", a.sees};
    case 2: {
        const bool isHead = draws() % 2 == 0;
        RandomMask b = randomMask(draws, depth - 1), c = randomMask(draws, depth - 1);
        return {(isHead ? "per_head(" : "per_layer (") + a.text + "," + blank + b.text + blank + "," + c.text + ")",
                [=](int64_t i, int64_t j, int head, int layer) {
                    const RandomMask* all[] = {&a, &b, &c};
                    return all[(isHead ? head : layer) % 3]->sees(i, j, head, layer);
                }};
    }
    case 3: {
        RandomMask b = randomMask(draws, depth - 1);
        return {"(" + a.text + ")" + blank + "|" + blank + "(" + b.text + ")",
                [=](int64_t i, int64_t j, int head, int layer) {
                    return a.sees(i, j, head, layer) || b.sees(i, j, head, layer);
                }};
    }
    default: {
        RandomMask b = randomMask(draws, depth - 1);
        return {"(" + a.text + ")" + blank + "&" + blank + "(" + b.text + ")",
                [=](int64_t i, int64_t j, int head, int layer) {
                    return a.sees(i, j, head, layer) && b.sees(i, j, head, layer);
                }};
    }
    }
}

} // namespace attn::test
