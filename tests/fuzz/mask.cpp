#include "engine/attention/mask/blocks.h"
#include "engine/attention/mask/expression.h"
#include "engine/core/bit_row.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A mask expression, and its rows for a few sizes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::mayRefuse([&] {
        const MaskExpression mask = MaskExpression::parse(fuzz::textOf(data, size));
        fuzz::require(MaskExpression::parse(mask.text()) == mask, "a mask is written as it was read");
        mask.contentTerms();
        const MaskExpression fixed = mask.staticPart();
        for (const MaskSize& extents : {MaskSize{.queries = 1, .keys = 1}, MaskSize{.queries = 9, .keys = 9},
                                        MaskSize{.queries = 16, .keys = 16, .head = 1, .heads = 2, .layer = 1},
                                        MaskSize{.queries = 5, .keys = 40, .head = 3, .heads = 4}})
            fuzz::mayRefuse([&] {
                const MaskBlocks blocks = maskBlocks(fixed, extents);
                BitRow row;
                int64_t seen = 0;
                for (int64_t query = 0; query < extents.queries; ++query) {
                    fixed.row(extents, query, row);
                    seen += row.count();
                }
                fuzz::require(seen == blocks.seen, "the blocks show the cells that the rows show");
                fixed.sight(extents);
            });
    });
    return 0;
}
