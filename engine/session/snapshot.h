#pragma once

#include "engine/session/commands.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct AnalysisResult;

/// One named parameter of the loaded model, as stored by the engine (linear weights are [out, in]).
struct ParameterInfo {
    std::string name;       ///< engine name, e.g. "blocks.0.attn.W_Q"
    std::string sourceName; ///< name in the file, empty for constructed models
    std::vector<int64_t> shape;
    int64_t count = 0;
};

/// What is known of a model without running it. Immutable once published.
struct ModelInfo {
    std::string name;        ///< folder name or "induction"
    std::string path;        ///< what the user opened; "builtin:induction" for the constructed one
    std::string family;      ///< "gpt2", "gpt_neo", "gpt_neox", "llama", "induction"
    std::string familyTitle; ///< "Llama"
    std::string configJson;  ///< pretty-printed config as found in the folder
    std::string dtype;       ///< dtype in the file: "F32", "F16", "BF16"
    int layers = 0;
    int heads = 0;
    int keyValueHeads = 0; ///< G; G < H means grouped-query attention
    int headWidth = 0;     ///< D
    int modelWidth = 0;    ///< C
    int feedForwardWidth = 0;
    int vocabulary = 0;    ///< V, rows of the embedding
    int contextLength = 0; ///< most tokens the program runs this model on
    int64_t parameterCount = 0;
    int64_t parameterBytes = 0; ///< float32 bytes on the device
    bool hasTokenizer = false;
    std::string tokenizerSummary;        ///< e.g. "BPE with byte fallback, 512 tokens"
    std::vector<std::string> tokenTexts; ///< display piece of every id; empty without a tokenizer
    std::string positionScheme;          ///< e.g. "rotary, half-split, base 10000"
    std::vector<int> slidingWindow;      ///< per layer, 0 where the layer sees everything
    std::vector<ParameterInfo> parameters;
    std::vector<std::string> hooks;    ///< every probe name the model offers, in execution order
    std::vector<std::string> warnings; ///< e.g. "2 NaN in blocks.0.mlp.W_in"
};

/// One token of the current sequence.
struct TokenInfo {
    int id = 0;
    std::string text;    ///< display piece; may be a lone byte shown as "<0xE4>"
    std::string written; ///< what it adds to the running text: a character cut into several tokens comes with its last
    int branchNode = 0;  ///< its node in the branch tree
    bool isSpecial = false;           ///< BOS and the like
    bool isPrompt = false;            ///< typed by the user (or BOS), not generated
    std::optional<float> probability; ///< with which it was generated, under the sampling in force then
};

/// The token sequence that the key/value cache holds now.
struct Sequence {
    std::vector<TokenInfo> tokens;
    std::string text;   ///< decoded text of all tokens, special tokens left out
    std::string prompt; ///< the prompt text as posted
    std::string notice; ///< visible rule that applied, e.g. "the oldest 12 tokens were dropped: the context is 512"
};

/// A token in the tree of everything tried since the prompt was set. Node 0 is the root (no token).
struct BranchNode {
    int token = -1;
    int parent = -1;
    std::string text;
    float probability = 1.0f;
    std::vector<int> children;
};
struct BranchTree {
    std::vector<BranchNode> nodes;
    int current = 0; ///< node of the last token of the sequence
};

/// Logits after the last token. Probabilities under a sampling are computed from these without running the model.
struct NextToken {
    std::vector<float> logits;     ///< [V]
    std::vector<int> recentTokens; ///< ids that a repetition penalty looks at
};

/// A picture of part of one attention pattern: rows are queries, columns are keys.
struct PatternTile {
    int layer = 0;
    int head = 0;       ///< -1: aggregate over heads, see aggregate
    int rows = 0;       ///< pixels down
    int columns = 0;    ///< pixels across
    int queryBegin = 0; ///< token range covered: [queryBegin, queryEnd)
    int queryEnd = 0;
    int keyBegin = 0;
    int keyEnd = 0;
    float exactRows = 1; ///< share of the rows whose pixels are; in the others one query stands for those of a pixel
    bool leavesOutFirst = false; ///< key 0 counts nowhere, and what is left of each row is divided by its sum
    std::vector<float>
        values; ///< [rows, columns], each the maximum of the probabilities it covers; exact when one pixel is one cell
    float at(int row, int column) const {
        return values[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)];
    }
    bool isExact() const { return rows == queryEnd - queryBegin && columns == keyEnd - keyBegin && exactRows == 1; }
};

/// All layers x heads, each pooled to at most a given resolution.
struct PatternGrid {
    int layers = 0;
    int heads = 0;
    std::vector<PatternTile> tiles; ///< layer-major
    const PatternTile& at(int layer, int head) const { return tiles[static_cast<size_t>(layer * heads + head)]; }
};

/// What a head does as a whole, in numbers that do not grow with the square of the tokens.
struct HeadProfile {
    int layer = 0, head = 0;
    int keysOfPlace = 1;          ///< that a place of `received` stands for
    std::vector<float> received;  ///< weight that a key gets from all queries together; the mean of those of a place
    std::vector<float> distances; ///< share of all weight that goes 0, 1, 2 to 3, 4 to 7, ... positions away
    struct Cell {
        int query = 0, key = 0;
        float weight = 0;
        bool operator==(const Cell&) const = default;
    };
    std::vector<Cell> largest; ///< of the queries that see more than themselves, the largest first; there at the end
    float exactRows = 1;       ///< share of the rows that are counted so far
    bool isByHand = false;     ///< the pattern is set by hand
};

/// Attention of the newest token to every key, for all heads.
struct NewestRows {
    int layers = 0;
    int heads = 0;
    int keys = 0;
    std::vector<float> values; ///< [layers, heads, keys]
};

/// What a score has besides q.k times the scale.
struct ScoreTerm {
    std::string name; ///< as its hook ends: "position_bias"
    float value = 0;
    bool operator==(const ScoreTerm&) const = default;
};

/// The arithmetic of one query-key cell, recomputed on the host from the device's own q, k and v.
struct CellExplanation {
    std::string remark{}; ///< why this attention has no such arithmetic; all but the cell and `displayed` is then unset
    int layer = 0;
    int head = 0;
    int keyValueHead = 0; ///< the key/value head this head reads (GQA)
    int query = 0;
    int key = 0;
    std::vector<float> q;           ///< [D] as used in the score (after rotary)
    std::vector<float> k;           ///< [D] likewise
    std::vector<float> products;    ///< q[d] * k[d]
    float dot = 0;                  ///< sum of products
    float scale = 1;                ///< factor on the dot product
    std::vector<ScoreTerm> terms{}; ///< of composed attention
    float score = 0;                ///< dot * scale + the terms
    bool isMasked = false;
    std::string maskReason;                  ///< e.g. "the key is after the query"
    float rowMaximum = 0;                    ///< of the visible scores of this row
    float rowSum = 0;                        ///< of exp(score - rowMaximum)
    float probability = 0;                   ///< exp(score - rowMaximum) / rowSum
    float displayed = 0;                     ///< the value that the heatmap shows, from the device; NaN: it shows none
    std::vector<float> v;                    ///< [D] value vector of the key
    std::vector<float> contribution;         ///< [D] probability * v: what the cell adds to z
    std::vector<float> residualContribution; ///< [C] contribution through this head's W_O
    std::vector<float> rowScores;            ///< [S] scaled scores of the row, NaN where masked
    std::vector<float> rowProbabilities;     ///< [S]
};

/// One weight, pooled for display.
struct WeightView {
    std::string name;
    std::vector<int64_t> shape;
    int rows = 0, columns = 0;
    std::vector<float> values; ///< [rows, columns] of means; vectors are one row
    float minimum = 0, maximum = 0, mean = 0, standardDeviation = 0;
    std::vector<int> histogram; ///< counts in equal bins from minimum to maximum
};

/// What one layer's attention is given on a sequence: queries, keys and values, so that another attention may run on
/// them. Queries carry what a model's scale of the scores differs by from 1 / sqrt(D). Both are as they are before
/// rotary embedding, because a position part applies its own; where a model adds positions to its tokens (GPT-2) they
/// are in them.
struct LayerInputs {
    uint64_t sequenceVersion = 0; ///< of the sequence that they belong to
    int layer = 0;
    int64_t heads = 1, keyValueHeads = 1, tokens = 0, width = 1;
    std::vector<float> q, k, v;    ///< [H,T,D], [G,T,D], [G,T,D]
    std::string headsText() const; ///< the part of an attention that has as many: "grouped_query(8, 4)"
};

/// What went wrong, as a value.
struct Failure {
    std::string what, where, hint;
    std::string sentence() const;
    bool operator==(const Failure&) const = default;
};

enum class Activity { Idle, Loading, Prefilling, Generating, Exporting, Analysing };

struct Status {
    Activity activity = Activity::Idle;
    float progress = 0;         ///< 0..1 while Loading, Exporting or Analysing
    std::string detail;         ///< e.g. "blocks.3.mlp.W_in"
    std::string device;         ///< "llvmpipe (LLVM 15.0.6, 256 bits)"
    double tokensPerSecond = 0; ///< of the last run of generation, 0 before one
    double lastPrefillMs = 0;
    int64_t deviceBytes = 0;   ///< allocated on the device
    int64_t residentBytes = 0; ///< resident memory of this process
};

/// Of the run without gates and edits, what Snapshot has of the changed one. Each may be null as there.
struct UneditedViews {
    std::shared_ptr<const PatternGrid> grid;
    std::shared_ptr<const PatternTile> detail;
    std::shared_ptr<const NewestRows> newest;
    std::shared_ptr<const HeadProfile> profile;
    std::shared_ptr<const CellExplanation> explanation;
};

/// Everything a view may show at one moment. Parts that did not change are shared with the previous snapshot.
struct Snapshot {
    uint64_t version = 0;         ///< grows by one with each snapshot
    uint64_t sequenceVersion = 0; ///< changes when the tokens change; parts below belong to it
    Status status;
    std::shared_ptr<const ModelInfo> model;
    std::shared_ptr<const Sequence> sequence;
    std::shared_ptr<const BranchTree> branches;
    std::shared_ptr<const NextToken> next;
    std::shared_ptr<const PatternGrid> grid;
    std::shared_ptr<const PatternTile> detail; ///< the selected head (or aggregate)
    std::shared_ptr<const NewestRows> newest;
    std::shared_ptr<const HeadProfile> profile; ///< of the last SetProfileCommand
    std::shared_ptr<const CellExplanation> explanation;
    std::shared_ptr<const WeightView> weight;
    std::shared_ptr<const LayerInputs> layerInputs;      ///< of the last CaptureInputsCommand
    std::shared_ptr<const std::vector<float>> headGates; ///< [layers, heads], 1 = whole
    std::shared_ptr<const Edits> edits;                  ///< null: none
    bool isEdited = false;                               ///< a gate is not 1, or there are edits
    std::shared_ptr<const NextToken> unedited;           ///< `next` without them, while edited and not generating
    std::shared_ptr<const UneditedViews> uneditedViews;  ///< likewise, while WantUneditedCommand asks for them
    std::map<std::string, std::shared_ptr<const AnalysisResult>> analyses; ///< by Analysis::key(), the last of each
    /// The same of the unedited run; those of the analyses that ran while it was wanted.
    std::map<std::string, std::shared_ptr<const AnalysisResult>> uneditedAnalyses;
    std::optional<ShowWeightsCommand> shown; ///< the moment of a training run that the model is at
    std::optional<Failure> failure;          ///< of the last command that failed; cleared by the next that succeeds
    uint64_t failureCount = 0;               ///< grows with each failure, so that a repeated one is noticed
    /// What opens the same model with the same weights again.
    std::string path() const { return shown ? shown->path : model ? model->path : std::string(); }
    std::string finishedExport; ///< path written by the last CaptureCommand
};

} // namespace attn
