#include "engine/models/induction.h"

#include "engine/models/hook_names.h"

#include <cmath>
#include <numbers>

namespace attn {
namespace {

// Sections of the residual stream: the current letter, its position, the previous letter, and the prediction.
constexpr int64_t kLetters = 27, kContext = 128, kWaves = kContext / 2; // one wave per pair of features
constexpr int64_t kLetterAt = 0, kPlaceAt = 28, kPreviousAt = kPlaceAt + 2 * kWaves, kNextAt = kPreviousAt + 28;
constexpr int64_t kWidth = kNextAt + 28, kHeadWidth = 2 * kWaves, kHeads = 2;

double frequency(int64_t wave) {
    return std::numbers::pi * (static_cast<double>(wave) + 0.5) / static_cast<double>(kWaves);
}

/// A dense matrix under construction.
struct Matrix {
    int64_t rows, columns;
    std::vector<float> values = std::vector<float>(static_cast<size_t>(rows * columns));
    float& at(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
};

/// Copies `count` features starting at `from` of the residual stream to the start of one head.
void copyIn(Matrix& matrix, int64_t head, int64_t from, int64_t count, double gain = 1) {
    for (int64_t i = 0; i < count; ++i) matrix.at(head * kHeadWidth + i, from + i) = static_cast<float>(gain);
}

/// Reads the position `shift` letters back: rotates each wave by the angle of the shift.
void shiftedPlace(Matrix& matrix, int64_t head, double shift, double gain) {
    for (int64_t wave = 0; wave < kWaves; ++wave) {
        const double angle = shift * frequency(wave);
        const int64_t row = head * kHeadWidth + 2 * wave, column = kPlaceAt + 2 * wave;
        matrix.at(row, column) = static_cast<float>(gain * std::cos(angle));
        matrix.at(row, column + 1) = static_cast<float>(gain * std::sin(angle));
        matrix.at(row + 1, column) = static_cast<float>(-gain * std::sin(angle));
        matrix.at(row + 1, column + 1) = static_cast<float>(gain * std::cos(angle));
    }
}

} // namespace

std::vector<std::string> inductionAlphabet() {
    std::vector<std::string> letters;
    for (char letter = 'a'; letter <= 'z'; ++letter) letters.emplace_back(1, letter);
    letters.emplace_back(" ");
    return letters;
}

ModelSpec inductionConfig() {
    LayerAttention spec{.spec = plainAttention({kHeads, kHeads}, MaskExpression::causal()), .headWidth = kHeadWidth};
    spec.spec.put(Slot::Score, "dot", {});
    ModelSpec config;
    config.name = "induction";
    config.family = "induction";
    config.tokens.vocabulary = kLetters;
    config.modelWidth = kWidth;
    config.context = kContext;
    config.norm = &kNoNormPart;
    config.finalNorm = false;
    config.positions = Positions::Learned;
    config.readouts.front().tiedEmbedding = false;
    config.feedForward = {.width = 0};
    config.layers = {spec, spec};
    return config;
}

std::map<std::string, std::vector<float>> inductionWeights() {
    std::map<std::string, std::vector<float>> weights;
    Matrix embed{kLetters, kWidth}, unembed{kLetters, kWidth}, place{kContext, kWidth};
    for (int64_t letter = 0; letter < kLetters; ++letter) {
        embed.at(letter, kLetterAt + letter) = 1;
        unembed.at(letter, kNextAt + letter) = 8; // a certain prediction is e^8 times as likely as each other letter
    }
    for (int64_t position = 0; position < kContext; ++position)
        for (int64_t wave = 0; wave < kWaves; ++wave) {
            place.at(position, kPlaceAt + 2 * wave) =
                static_cast<float>(std::cos(static_cast<double>(position) * frequency(wave)));
            place.at(position, kPlaceAt + 2 * wave + 1) =
                static_cast<float>(std::sin(static_cast<double>(position) * frequency(wave)));
        }
    weights["embed.W_E"] = embed.values;
    weights["unembed.W_U"] = unembed.values;
    weights["pos_embed.W_pos"] = place.values;

    const int64_t rows = kHeads * kHeadWidth;
    const auto layer = [&](const std::string& prefix, Matrix& q, Matrix& k, Matrix& v, Matrix& o) {
        weights[prefix + "W_Q"] = q.values;
        weights[prefix + "W_K"] = k.values;
        weights[prefix + "W_V"] = v.values;
        weights[prefix + "W_O"] = o.values;
    };
    // Sum over waves of cos(w (i - j - shift)) is kWaves at i - j = shift and 0 at every other distance below the
    // context.
    const double placeGain = kInductionGap / static_cast<double>(kWaves);
    {
        Matrix q{rows, kWidth}, k{rows, kWidth}, v{rows, kWidth}, o{kWidth, rows};
        shiftedPlace(q, 0, 1, placeGain); // attends to the previous letter
        shiftedPlace(k, 0, 0, 1);
        copyIn(v, 0, kLetterAt, kLetters);
        for (int64_t letter = 0; letter < kLetters; ++letter) o.at(kPreviousAt + letter, letter) = 1;
        shiftedPlace(q, 1, 0, placeGain); // attends to the current letter
        shiftedPlace(k, 1, 0, 1);
        layer(siteName(0) + ".", q, k, v, o);
    }
    {
        Matrix q{rows, kWidth}, k{rows, kWidth}, v{rows, kWidth}, o{kWidth, rows};
        copyIn(q, 0, kLetterAt, kLetters, kInductionGap); // compares the current letter ...
        copyIn(k, 0, kPreviousAt, kLetters);              // ... with the letter before each key
        copyIn(v, 0, kLetterAt, kLetters);
        for (int64_t letter = 0; letter < kLetters; ++letter) o.at(kNextAt + letter, letter) = 1;
        layer(siteName(1) + ".", q, k, v, o);
    }
    return weights;
}

} // namespace attn
