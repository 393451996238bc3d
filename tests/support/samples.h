#pragma once

#include "engine/models/hook_names.h"
#include "engine/session/snapshot.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

/// Hand-made parts of snapshots for tests of the code that draws them.
namespace attn::samples {

/// A causal pattern with known numbers: query q puts 1/2 on key `q - offset` (or on key 0 before there is one) and
/// shares the other half among all visible keys.
inline float weightOf(int query, int key, int offset) {
    if (key > query) return 0;
    const int target = std::max(0, query - offset);
    return 0.5f / static_cast<float>(query + 1) + (key == target ? 0.5f : 0.0f);
}

inline PatternTile tile(int tokens, int layer = 0, int head = 0, int offset = 1) {
    PatternTile result{
        .site = layer, .head = head, .rows = tokens, .columns = tokens, .queryEnd = tokens, .keyEnd = tokens};
    for (int query = 0; query < tokens; ++query)
        for (int key = 0; key < tokens; ++key) result.values.push_back(weightOf(query, key, offset));
    return result;
}

inline std::shared_ptr<const PatternTile> sharedTile(int tokens, int layer = 0, int head = 0, int offset = 1) {
    return std::make_shared<const PatternTile>(tile(tokens, layer, head, offset));
}

/// The tile pooled to fewer pixels. Each pixel is the maximum of the cells that it covers.
inline PatternTile pooled(const PatternTile& exact, int size) {
    PatternTile result = exact;
    result.rows = result.columns = size;
    result.values.assign(static_cast<size_t>(size * size), 0);
    for (int query = 0; query < exact.rows; ++query)
        for (int key = 0; key < exact.columns; ++key) {
            int row = 0, column = 0;
            while ((row + 1) * exact.rows / size <= query) ++row;
            while ((column + 1) * exact.columns / size <= key) ++column;
            float& value = result.values[static_cast<size_t>(row * size + column)];
            value = std::max(value, exact.at(query, key));
        }
    return result;
}

/// In each layer, head h attends h tokens back.
inline std::shared_ptr<const PatternGrid> grid(int layers, int heads, int tokens) {
    auto result = std::make_shared<PatternGrid>();
    result->sites = layers;
    result->heads = heads;
    for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head) result->tiles.push_back(tile(tokens, layer, head, head));
    return result;
}

inline std::shared_ptr<const ReadoutRows> readoutRows(int layers, int heads, int tokens) {
    auto result = std::make_shared<ReadoutRows>();
    result->sites = layers;
    result->heads = heads;
    result->keys = tokens;
    for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head)
            for (int key = 0; key < tokens; ++key) result->values.push_back(weightOf(tokens - 1, key, head));
    return result;
}

inline std::shared_ptr<const Sequence> sequence(const std::vector<std::string>& texts) {
    auto result = std::make_shared<Sequence>();
    for (size_t i = 0; i < texts.size(); ++i) {
        TokenInfo token;
        token.id = static_cast<int>(i);
        token.text = texts[i];
        result->tokens.push_back(token);
        result->text += texts[i];
    }
    return result;
}

inline std::shared_ptr<const Sequence> sequence(int tokens) {
    std::vector<std::string> texts;
    for (int i = 0; i < tokens; ++i) texts.push_back(" w" + std::to_string(i));
    return sequence(texts);
}

/// An explanation with D dimensions whose products sum to `dot`, in a row of `keys` keys.
inline std::shared_ptr<const CellExplanation> explanation(int query, int key, int width = 8, int keys = 6) {
    auto cell = std::make_shared<CellExplanation>();
    cell->query = query;
    cell->key = key;
    for (int d = 0; d < width; ++d) {
        cell->q.push_back(0.25f * static_cast<float>(d + 1));
        cell->k.push_back(d % 2 == 0 ? 0.5f : -0.25f);
        cell->products.push_back(cell->q.back() * cell->k.back());
        cell->dot += cell->products.back();
        cell->v.push_back(static_cast<float>(d) - 2);
    }
    cell->scale = 1 / std::sqrt(static_cast<float>(width));
    cell->score = cell->dot * cell->scale;
    cell->isMasked = key > query;
    cell->maskReason = cell->isMasked ? "the key is after the query" : "";
    for (int i = 0; i < keys; ++i) {
        cell->rowScores.push_back(i > query ? NAN : cell->score);
        cell->rowProbabilities.push_back(i > query ? 0.0f : 1.0f / static_cast<float>(query + 1));
    }
    cell->rowMaximum = cell->score;
    cell->rowSum = static_cast<float>(query + 1);
    cell->probability = cell->displayed = cell->isMasked ? 0.0f : 1.0f / static_cast<float>(query + 1);
    for (float value : cell->v) cell->contribution.push_back(cell->probability * value);
    return cell;
}

/// A model with its patterns, as the session would publish after a prompt.
inline std::shared_ptr<Snapshot> snapshot(int layers, int heads, int tokens, int keyValueHeads = 0) {
    auto result = std::make_shared<Snapshot>();
    auto model = std::make_shared<ModelInfo>();
    model->name = "sample";
    model->layers = layers;
    model->heads = heads;
    for (int layer = 0; layer < layers; ++layer)
        model->structure.sites.push_back({.name = siteName(layer),
                                          .layer = layer,
                                          .heads = heads,
                                          .keyValueHeads = keyValueHeads > 0 ? keyValueHeads : heads});
    result->version = result->sequenceVersion = 1;
    result->model = model;
    result->sequence = sequence(tokens);
    if (tokens == 0) return result;
    result->grid = grid(layers, heads, tokens);
    result->readoutRows = readoutRows(layers, heads, tokens);
    result->detail = sharedTile(tokens);
    return result;
}

} // namespace attn::samples
