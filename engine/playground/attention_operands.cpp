#include "engine/playground/attention_operands.h"

#include "engine/core/error.h"
#include "engine/io/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

namespace attn {
namespace {

/// One tensor of the file with its shape as [heads, rows, width].
struct Input {
    int64_t rows = 0, width = 0;
    std::vector<float> values{};
};

[[noreturn]] void refuse(const SafetensorsFile& file, std::string what, std::string hint) {
    throw Error({.what = std::move(what), .where = file.path().string(), .hint = std::move(hint)});
}

Input read(const SafetensorsFile& file, const std::string& name, int64_t heads) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end())
        refuse(file, fmt::format("the file has no tensor \"{}\"", name), "give a file with the tensors q, k and v");
    std::vector<int64_t> shape = found->second.shape;
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    const std::string text = fmt::format("{}", found->second.shape);
    if (shape.size() != 3 || shape[0] != heads)
        refuse(file, fmt::format("the shape of {} is {}, not [{}, rows, width]", name, text, heads),
               "give the composition as many heads as the file has, for example heads=multi_head(4)");
    if (shape[1] < 1 || shape[2] < 1 || shape[1] > kMostOperandRows || shape[2] > kMostOperandWidth)
        refuse(file,
               fmt::format("the shape of {} is {}, but attend needs 1 to {} rows and a width from 1 to {}", name, text,
                           kMostOperandRows, kMostOperandWidth),
               "give q, k and v of such a shape");
    Input input{.rows = shape[1], .width = shape[2]};
    input.values.resize(static_cast<size_t>(found->second.elements())); // at most as many as the file has bytes
    file.read(found->second, 0, input.values);
    return input;
}

} // namespace

AttentionOperands readAttentionOperands(const std::filesystem::path& path, const HeadCounts& counts) {
    const SafetensorsFile file(path);
    Input q = read(file, "q", counts.heads), k = read(file, "k", counts.groups), v = read(file, "v", counts.groups);
    for (const auto& [name, width] : {std::pair{"k", k.width}, std::pair{"v", v.width}})
        if (width != q.width)
            refuse(file, fmt::format("{} has width {}, but q has width {}", name, width, q.width),
                   "q, k and v must have the same last axis");
    if (v.rows != k.rows)
        refuse(file, fmt::format("there are {} keys but {} values", k.rows, v.rows),
               "k and v must have the same number of rows");
    std::vector<std::string> leftOut;
    for (const auto& [name, tensor] : file.tensors())
        if (name != "q" && name != "k" && name != "v") leftOut.push_back(name);
    return {.sizes = {.queries = q.rows, .keys = k.rows, .width = q.width},
            .q = std::move(q.values),
            .k = std::move(k.values),
            .v = std::move(v.values),
            .leftOut = std::move(leftOut)};
}

} // namespace attn
