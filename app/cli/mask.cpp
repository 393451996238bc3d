#include "app/cli/command.h"

#include "engine/attention/mask/bit_row.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/mask/expression.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/io/tensor_writer.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QImage>

#include <algorithm>

namespace attn::cli {
namespace {

constexpr int64_t kMaxLength = 65536, kMaxTextLength = 64, kMaxPixels = 32767;
constexpr int64_t kMaxTensorCells = int64_t{1} << 28; // 1 GiB of float32
constexpr int kSmallestPicture = 512;                 // pixels that a picture's longer side has at least

struct Options {
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
                     .hint = "write a .png, or a smaller mask"});
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
            {.what = fmt::format("a picture of {} x {} cells of {} pixels is too large", size.queries, size.keys, cell),
             .where = path,
             .hint = fmt::format("keep to {} pixels a side", kMaxPixels)});
    QImage image(static_cast<int>(size.keys) * cell, static_cast<int>(size.queries) * cell, QImage::Format_Mono);
    if (image.isNull())
        throw Error({.what = "the picture does not fit into memory", .where = path, .hint = "make it smaller"});
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

int mask(const Options& options) {
    MaskSize size = options.size;
    if (size.keys == 0) size.keys = size.queries;
    if (size.head >= size.heads)
        throw Error({.what = fmt::format("there is no head {}", size.head),
                     .where = "--head",
                     .hint = fmt::format("heads are 0 to {}; --heads sets their number", size.heads - 1)});
    const auto parsed = MaskExpression::parse(options.expression);
    const std::string& out = options.out;
    if (out.ends_with(".png"))
        writePicture(parsed, size, options.cell, out);
    else if (out.ends_with(".npz") || out.ends_with(".safetensors"))
        writeTensor(parsed, size, out);
    else if (!out.empty())
        throw Error(
            {.what = "the ending says no format", .where = out, .hint = "end the name in .png, .npz or .safetensors"});
    else if (std::max(size.queries, size.keys) <= kMaxTextLength)
        printPicture(parsed, size);
    else if (!options.counts)
        throw Error({.what = fmt::format("{} x {} cells are too many to print", size.queries, size.keys),
                     .where = "--size",
                     .hint = "give --out FILE or --count"});
    if (options.counts) printCounts(parsed, size);
    return kDone;
}

} // namespace

void addMask(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("mask", "draw, write or count an attention mask");
    const auto options = std::make_shared<Options>();
    command
        ->add_option("EXPRESSION", options->expression,
                     "terms joined by & | ~ and brackets, such as 'causal & window(32)'")
        ->required();
    command->add_option("--size", options->size.queries, "queries, and keys unless --keys is given")
        ->check(CLI::Range(int64_t{1}, kMaxLength))
        ->required();
    command->add_option("--keys", options->size.keys, "keys")->check(CLI::Range(int64_t{1}, kMaxLength));
    command->add_option("--layer", options->size.layer, "for per_layer")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--head", options->size.head, "for per_head")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--heads", options->size.heads, "number of heads")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--out", options->out,
                        "file to write: .png, .npz or .safetensors (tensor \"mask\" [queries, keys], 1 where query row "
                        "i may see key column j); up to 64 tokens are printed without it");
    command->add_option("--cell", options->cell, "pixels per cell of a .png; by default 512 / N, at least 1")
        ->check(CLI::Range(1, 512));
    command->add_flag("--count", options->counts, "print the cells per row and their share");
    std::string terms;
    for (const Part* part : maskParts()) {
        std::string form(part->id);
        for (size_t i = 0; i < part->params.size(); ++i) form += (i == 0 ? "(" : ",") + std::string(part->params[i].id);
        if (!part->params.empty()) form += part->takesList ? "...)" : ")";
        terms += fmt::format("  {:<42} {}\n", form, part->formula);
    }
    command->footer("Terms (query i, key j, from 0):\n" + terms +
                    "  per_head(a, b, ...), per_layer(a, b, ...)  a for head (layer) 0, b for 1, and over again\n"
                    "Examples:\n"
                    "  attention-cli mask 'causal & (window(3) | global(1))' --size 12\n"
                    "  attention-cli mask 'bigbird(8,3,1,2,7)' --size 256 --out bigbird.png --count\n"
                    "  attention-cli mask 'per_head(causal & blocks(8), summary(8,2))' --size 64 --head 1 --heads 2 "
                    "--out head.npz");
    command->callback([=, &run] { run = [=] { return mask(*options); }; });
}

} // namespace attn::cli
