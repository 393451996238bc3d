#pragma once

#include "tests/io/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attn::test {

/// Sizes of a Llama whose weights are all zero: the file is one hole, so that it may be as large as wanted.
struct HollowLlama {
    int64_t layers = 1, width = 64, heads = 4, feedForward = 128, vocabulary = 64, context = 4096;

    /// @return false if the file system cannot hold such a file
    bool write(const fs::path& folder) const {
        std::string header;
        int64_t bytes = 0;
        const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
            int64_t size = 4;
            for (int64_t extent : shape) size *= extent;
            header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":{},"data_offsets":[{},{}]}})",
                                  header.empty() ? "" : ",", name, shape, bytes, bytes + size);
            bytes += size;
        };
        add("model.embed_tokens.weight", {vocabulary, width});
        add("model.norm.weight", {width});
        for (int64_t layer = 0; layer < layers; ++layer) {
            const std::string prefix = "model.layers." + std::to_string(layer) + ".";
            for (const char* name : {"input_layernorm", "post_attention_layernorm"})
                add(prefix + name + ".weight", {width});
            for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
                add(prefix + "self_attn." + name + ".weight", {width, width});
            for (const char* name : {"gate_proj", "up_proj"})
                add(prefix + "mlp." + name + ".weight", {feedForward, width});
            add(prefix + "mlp.down_proj.weight", {width, feedForward});
        }
        writeFile(folder / "config.json",
                  fmt::format(R"({{"model_type":"llama","hidden_size":{},"num_attention_heads":{},)"
                              R"("num_hidden_layers":{},"intermediate_size":{},"vocab_size":{},)"
                              R"("max_position_embeddings":{}}})",
                              width, heads, layers, feedForward, vocabulary, context));
        const std::string begin = safetensors("{" + header + "}", "");
        writeFile(folder / "model.safetensors", begin);
        std::error_code error;
        fs::resize_file(folder / "model.safetensors", begin.size() + static_cast<uint64_t>(bytes), error);
        return !error;
    }
};

} // namespace attn::test
