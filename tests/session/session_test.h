#pragma once

#include "engine/session/session.h"
#include "tests/io/files.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

namespace attn::test {

/// The sentence that a command fails with; the session must be alive and idle afterwards.
inline std::string failureOf(Session& session, const Command& command) {
    const uint64_t before = session.latest()->failureCount;
    session.post(command);
    REQUIRE(session.waitIdle());
    const auto snapshot = session.latest();
    CHECK(snapshot->status.activity == Activity::Idle);
    if (snapshot->failureCount == before) return "accepted";
    REQUIRE(snapshot->failure);
    CHECK_FALSE(snapshot->failure->hint.empty());
    return snapshot->failure->sentence();
}

/// Posts a command that must succeed.
inline std::shared_ptr<const Snapshot> succeed(Session& session, const Command& command) {
    CHECK(failureOf(session, command) == "accepted");
    return session.latest();
}

/// Waits until a snapshot is as wanted. @return false after a time that no machine needs
template <class Wanted> bool waitFor(const Session& session, const Wanted& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!wanted(*session.latest())) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// Sizes of a Llama whose weights are all zero: the file is one hole, so that it may be as large as wanted.
struct HollowLlama {
    int64_t layers = 1, width = 64, heads = 4, feedForward = 128, vocabulary = 64, context = 4096;

    /// @return false if the file system cannot hold such a file
    bool write(const fs::path& folder) const {
        nlohmann::json header;
        int64_t bytes = 0;
        const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
            int64_t size = 4;
            for (int64_t extent : shape) size *= extent;
            header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {bytes, bytes + size}}};
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
        writeFile(folder / "config.json", nlohmann::json{{"model_type", "llama"},
                                                         {"hidden_size", width},
                                                         {"num_attention_heads", heads},
                                                         {"num_hidden_layers", layers},
                                                         {"intermediate_size", feedForward},
                                                         {"vocab_size", vocabulary},
                                                         {"max_position_embeddings", context}}
                                              .dump());
        const std::string begin = safetensors(header.dump(), "");
        writeFile(folder / "model.safetensors", begin);
        std::error_code error;
        fs::resize_file(folder / "model.safetensors", begin.size() + static_cast<uint64_t>(bytes), error);
        return !error;
    }
};

} // namespace attn::test
