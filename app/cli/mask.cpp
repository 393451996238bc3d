#include "app/cli/command.h"

#include "app/cli/part_form.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/mask/expression.h"
#include "engine/attention/part.h"
#include "engine/core/bit_row.h"
#include "engine/core/error.h"
#include "engine/io/tensor_writer.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QImage>

#include <algorithm>

namespace attn::cli {
namespace {

constexpr int64_t kMaxLength = 65536, kMaxTextLength = 64, kMaxPixels = 32767;
constexpr int64_t kMaxTensorCells = int64_t{1} << 28; // 1 GiB of float32
constexpr int kSmallestPicture = 512;                 // least pixels of the longer side, unless --cell is given

struct MaskOptions {
    std::string expression, out;
    MaskSize size{.queries = 0, .keys = 0};
    int cell = 0;
    bool counts = false;
};

/// Calls `visit(query, row)` for every row of the mask.
template <class Visit> void forEachRow(const MaskExpression& mask, const MaskSize& size, Visit visit) {
    BitRow row;
    for (int64_t query = 0; query < size.queries; ++query) {
        mask.row(size, query, row);
        visit(query, row);
    }
}

void writeTensor(const MaskExpression& mask, const MaskSize& size, const std::string& path) {
    if (size.queries * size.keys > kMaxTensorCells)
        throw Error({.what = fmt::format("a tensor of {} x {} takes more than 1 GiB", size.queries, size.keys),
                     .where = path,
                     .hint = "write a .png file, or choose a smaller --size"});
    std::vector<float> cells(static_cast<size_t>(size.queries * size.keys), 0);
    forEachRow(mask, size, [&](int64_t query, const BitRow& row) {
        row.forEach([&](int64_t key) { cells[static_cast<size_t>(query * size.keys + key)] = 1; });
    });
    const WrittenTensor tensor{.name = "mask", .shape = {size.queries, size.keys}, .values = cells};
    if (path.ends_with(".npz"))
        writeNpz(path, std::span(&tensor, 1));
    else
        writeSafetensors(path, std::span(&tensor, 1), {{"expression", mask.text()}});
}

void writePicture(const MaskExpression& mask, const MaskSize& size, int cell, const std::string& path) {
    const int64_t longer = std::max(size.queries, size.keys);
    if (cell == 0) cell = static_cast<int>(std::max<int64_t>(1, kSmallestPicture / longer));
    if (longer * cell > kMaxPixels)
        throw Error(
            {.what = fmt::format("an image of {} x {} cells of {} pixels is too large", size.queries, size.keys, cell),
             .where = path,
             .hint = fmt::format("choose a smaller --cell or --size: at most {} pixels on a side", kMaxPixels)});
    QImage image(static_cast<int>(size.keys) * cell, static_cast<int>(size.queries) * cell, QImage::Format_Mono);
    if (image.isNull())
        throw Error(
            {.what = "the image does not fit into memory", .where = path, .hint = "choose a smaller --cell or --size"});
    image.setColorTable({qRgb(244, 244, 244), qRgb(49, 104, 142)}); // hidden: paper; seen: the middle of viridis
    image.fill(0);
    forEachRow(mask, size, [&](int64_t query, const BitRow& row) {
        const int top = static_cast<int>(query) * cell;
        uchar* line = image.scanLine(top);
        row.forEach([&](int64_t key) {
            for (int x = static_cast<int>(key) * cell; x < static_cast<int>(key + 1) * cell; ++x)
                line[x / 8] |= static_cast<uchar>(0x80 >> x % 8);
        });
        for (int y = top + 1; y < top + cell; ++y) std::copy_n(line, image.bytesPerLine(), image.scanLine(y));
    });
    QBuffer png;
    png.open(QIODevice::WriteOnly);
    image.save(&png, "PNG");
    const QByteArray& bytes = png.data();
    writeAtomically(path, std::as_bytes(std::span(bytes.data(), static_cast<size_t>(bytes.size()))));
}

void printPicture(const MaskExpression& mask, const MaskSize& size) {
    forEachRow(mask, size, [&](int64_t, const BitRow& row) {
        std::string line;
        for (int64_t key = 0; key < size.keys; ++key)
            line += std::string(key == 0 ? "" : " ") + (row.test(key) ? "■" : "·");
        fmt::print("{}\n", line);
    });
}

void printCounts(const MaskExpression& mask, const MaskSize& size) {
    int64_t fewest = size.keys, most = 0, all = 0;
    forEachRow(mask, size, [&](int64_t, const BitRow& row) {
        const int64_t count = row.count();
        fewest = std::min(fewest, count);
        most = std::max(most, count);
        all += count;
    });
    const auto cells = static_cast<double>(size.queries) * static_cast<double>(size.keys);
    fmt::print("cells per row: min {}, mean {:.2f}, max {}\n", fewest,
               static_cast<double>(all) / static_cast<double>(size.queries), most);
    fmt::print("seen: {} of {:.0f} ({:.4g} %)\n", all, cells, 100 * static_cast<double>(all) / cells);
}

int mask(const Command& command, const MaskOptions& options) {
    if (!options.out.ends_with(".png")) refuseIdle(command, {"--cell"}, "other output", "--out with a .png file");
    MaskSize size = options.size;
    if (size.keys == 0) size.keys = size.queries;
    if (size.head >= size.heads)
        throw Error({.what = fmt::format("there is no head {}", size.head),
                     .where = "--head",
                     .hint = fmt::format("choose a head from 0 to {}, or give more --heads", size.heads - 1)});
    const auto parsed = MaskExpression::parse(options.expression);
    if (!parsed.dependsOnLayer()) refuseIdle(command, {"--layer"}, "a mask that all layers share", "per_layer");
    if (!parsed.dependsOnHead()) refuseIdle(command, {"--head", "--heads"}, "a mask that all heads share", "per_head");
    const std::string& out = options.out;
    if (out.ends_with(".png"))
        writePicture(parsed, size, options.cell, out);
    else if (out.ends_with(".npz") || out.ends_with(".safetensors"))
        writeTensor(parsed, size, out);
    else if (!out.empty())
        throw Error({.what = "the file ending is not a known format",
                     .where = out,
                     .hint = "end the name in .png, .npz or .safetensors"});
    else if (std::max(size.queries, size.keys) <= kMaxTextLength)
        printPicture(parsed, size);
    else if (!options.counts)
        throw Error({.what = fmt::format("{} x {} cells are too many to print", size.queries, size.keys),
                     .where = "--size",
                     .hint = "write it with --out FILE, or count it with --count"});
    if (options.counts) printCounts(parsed, size);
    return kDone;
}

} // namespace

void addMask(Command& command) {
    const auto options = std::make_shared<MaskOptions>();
    command.about("Masks of up to 64 tokens are printed: ■ is a key that the query of this row may see. Larger masks "
                  "need --out or --count.");
    command
        .argument("EXPRESSION", options->expression,
                  "terms joined by & (and), | (or), ~ (not) and brackets, for example 'causal & window(32)'")
        .required();
    command.option("--size N", options->size.queries, "number of queries, and of keys unless --keys is given")
        .range(1, kMaxLength)
        .required();
    command.option("--keys N", options->size.keys, "number of keys").range(1, kMaxLength).defaultText("--size");
    command.option("--layer N", options->size.layer, "layer, counted from 0, for per_layer").atLeast(0);
    command.option("--head N", options->size.head, "head, counted from 0, for per_head").atLeast(0);
    command.option("--heads N", options->size.heads, "number of heads").atLeast(1);
    command.option("--out FILE", options->out,
                   "file to write: .png, .npz or .safetensors (tensor \"mask\" [queries, keys], 1 where the query of "
                   "the row may see the key of the column)");
    command.option("--cell N", options->cell, "pixels of a cell's side in a .png file")
        .range(1, 512)
        .defaultText("512 / N, at least 1");
    command.flag("--count", options->counts, "print the cells per row and their share");
    std::vector<std::pair<std::string, std::string>> fixed, byContent;
    for (const Part* part : maskParts())
        (part->hooks.empty() ? fixed : byContent).emplace_back(partForm(*part), part->formula);
    fixed.emplace_back("per_head(a, b, ...), per_layer(a, b, ...)",
                       "a for head (layer) 0, b for 1, and so on; then a again");
    command.list("Terms (i is the query, j the key, both counted from 0)", std::move(fixed));
    command.list("Terms that depend on queries and keys (for attend, cost and train; they have no mask to print)",
                 std::move(byContent));
    command.example("attention-cli mask 'causal & (window(3) | global(1))' --size 12");
    command.example("attention-cli mask 'bigbird(8,3,1,2,7)' --size 256 --out bigbird.png --count");
    command.example("attention-cli mask 'per_head(causal & blocks(8), summary(8,2))' --size 64 --head 1 --heads 2 "
                    "--out head.npz");
    command.action([=, &command] { return mask(command, *options); });
}

} // namespace attn::cli
