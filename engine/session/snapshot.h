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
    int contextLength = 0; ///< the largest number of tokens that the program runs this model on
    int64_t parameterCount = 0;
    int64_t parameterBytes = 0; ///< float32 bytes on the device
    bool hasTokenizer = false;
    std::string tokenizerSummary;        ///< e.g. "BPE with byte fallback, 512 tokens"
    std::vector<std::string> tokenTexts; ///< display piece of every id; empty without a tokenizer
    std::string positionScheme;          ///< e.g. "rotary, half-split, base 10000"
    std::vector<int> slidingWindow;      ///< per layer, in tokens; 0: the layer has no window
    std::vector<ParameterInfo> parameters;
    std::vector<std::string> hooks;    ///< every probe name the model offers, in execution order
    std::vector<std::string> warnings; ///< e.g. "2 NaN in blocks.0.mlp.W_in"
};

/// One token of the current sequence.
struct TokenInfo {
    int id = 0;
    std::string text;       ///< display piece; may be a lone byte shown as "<0xE4>"
    std::string written;    ///< the text that it appends; the last token of a split character appends the character
    int branchNode = 0;     ///< index of its node in the branch tree
    bool isSpecial = false; ///< BOS and the like
    bool isPrompt = false;  ///< typed by the user (or BOS), not generated
    std::optional<float> probability; ///< its probability under the sampling settings that generated it
};

/// The token sequence that the key/value cache holds.
struct Sequence {
    std::vector<TokenInfo> tokens;
    std::string text;   ///< decoded text of all tokens except special tokens
    std::string prompt; ///< the prompt text as posted
    /// A rule that changed the sequence, e.g. "the oldest 12 tokens were dropped: the context is 512".
    std::string notice;
};

/// A token in the tree of all continuations since the prompt was set. Node 0 is the root and has no token.
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

/// The logits after the last token. Views compute sampling probabilities from them without running the model.
struct NextToken {
    std::vector<float> logits;     ///< [V]
    std::vector<int> recentTokens; ///< ids that a repetition penalty looks at
};

/// Part of one attention pattern, pooled for display: rows are queries, columns are keys.
struct PatternTile {
    int layer = 0;
    int head = 0;       ///< -1: the aggregate over the heads of the layer, SetViewCommand::aggregate
    int rows = 0;       ///< pixels down
    int columns = 0;    ///< pixels across
    int queryBegin = 0; ///< token range covered: [queryBegin, queryEnd)
    int queryEnd = 0;
    int keyBegin = 0;
    int keyEnd = 0;
    /// Share of the pixel rows that read every query they cover. Each other pixel row shows one query of its range.
    float exactRows = 1;
    bool leavesOutFirst = false; ///< key 0 is left out, and the remaining weights of each row are scaled to sum to 1
    /// [rows, columns]. Each pixel is the maximum of the attention weights that it covers.
    std::vector<float> values;
    float at(int row, int column) const {
        return values[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)];
    }
    /// @return true if each pixel is one cell
    bool isExact() const { return rows == queryEnd - queryBegin && columns == keyEnd - keyBegin && exactRows == 1; }
};

/// The patterns of all heads, each pooled to at most a given resolution.
struct PatternGrid {
    int layers = 0;
    int heads = 0;
    std::vector<PatternTile> tiles; ///< layer-major
    const PatternTile& at(int layer, int head) const { return tiles[static_cast<size_t>(layer * heads + head)]; }
};

/// Summary of one head's pattern. Its size grows at most linearly with the number of tokens.
struct HeadProfile {
    int layer = 0, head = 0;
    int keysOfPlace = 1;         ///< number of keys that one value of `received` covers
    std::vector<float> received; ///< total weight of a key over all queries; the mean where a value covers several keys
    std::vector<float> distances; ///< share of all weight at distances 0, 1, 2 to 3, 4 to 7, ... tokens
    struct Cell {
        int query = 0, key = 0;
        float weight = 0;
        bool operator==(const Cell&) const = default;
    };
    /// The largest cells of queries that see more than themselves, in falling order. Empty until all rows are counted.
    std::vector<Cell> largest;
    float exactRows = 1;   ///< share of the rows counted so far
    bool isByHand = false; ///< a change sets the pattern
};

/// Attention weights from the newest token to every key, for all heads.
struct NewestRows {
    int layers = 0;
    int heads = 0;
    int keys = 0;
    std::vector<float> values; ///< [layers, heads, keys]
};

/// A term that attention adds to the score q.k * scale.
struct ScoreTerm {
    std::string name; ///< the end of its hook's name: "position_bias"
    float value = 0;
    bool operator==(const ScoreTerm&) const = default;
};

/// The arithmetic of one cell, recomputed on the host from the q, k and v on the device.
struct CellExplanation {
    /// Why this attention has no such arithmetic. If set, only the layer, head, query, key and `displayed` are valid.
    std::string remark{};
    int layer = 0;
    int head = 0;
    int keyValueHead = 0; ///< the key/value head that this head reads (GQA)
    int query = 0;
    int key = 0;
    std::vector<float> q;           ///< [D] as used in the score, after rotary embedding
    std::vector<float> k;           ///< [D] as used in the score
    std::vector<float> products;    ///< q[d] * k[d]
    float dot = 0;                  ///< sum of products
    float scale = 1;                ///< factor on the dot product
    std::vector<ScoreTerm> terms{}; ///< set for composed attention
    float score = 0;                ///< dot * scale + the terms
    bool isMasked = false;
    std::string maskReason;                  ///< e.g. "the key is after the query"
    float rowMaximum = 0;                    ///< maximum of the visible scores of this row
    float rowSum = 0;                        ///< sum of exp(score - rowMaximum) over the row
    float probability = 0;                   ///< exp(score - rowMaximum) / rowSum
    float displayed = 0;                     ///< the value in the heatmap, from the device; NaN: none
    std::vector<float> v;                    ///< [D] the value vector of the key
    std::vector<float> contribution;         ///< [D] probability * v: the term that the cell adds to z
    std::vector<float> residualContribution; ///< [C] contribution through this head's W_O
    std::vector<float> rowScores;            ///< [S] scaled scores of the row, NaN where masked
    std::vector<float> rowProbabilities;     ///< [S]
};

/// One parameter of the model, pooled for display.
struct WeightView {
    std::string name;
    std::vector<int64_t> shape;
    int rows = 0, columns = 0;
    std::vector<float> values; ///< [rows, columns], each the mean of a block; a vector is one row
    float minimum = 0, maximum = 0, mean = 0, standardDeviation = 0;
    std::vector<int> histogram; ///< counts in equal bins from minimum to maximum
};

/// The queries, keys and values of one layer on a sequence, as inputs for another attention. If the model does not
/// scale its scores by 1 / sqrt(D), the queries carry the remaining factor. Queries and keys are taken before rotary
/// embedding, because a position part applies its own. They include the positions that a model adds to its tokens
/// (GPT-2).
struct LayerInputs {
    uint64_t sequenceVersion = 0; ///< version of the sequence that they belong to
    int layer = 0;
    int64_t heads = 1, keyValueHeads = 1, tokens = 0, width = 1;
    std::vector<float> q, k, v;    ///< [H,T,D], [G,T,D], [G,T,D]
    std::string headsText() const; ///< the heads part with these counts: "grouped_query(8, 4)"
};

/// A failed command: what went wrong, where, and a hint at the remedy.
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
    double tokensPerSecond = 0; ///< speed of the last generation; 0: none yet
    double lastPrefillMs = 0;
    int64_t deviceBytes = 0;   ///< memory allocated on the device
    int64_t residentBytes = 0; ///< resident memory of this process
};

/// The views of the same sequence with gates and edits bypassed. A member is null when Snapshot's is.
struct UneditedViews {
    std::shared_ptr<const PatternGrid> grid;
    std::shared_ptr<const PatternTile> detail;
    std::shared_ptr<const NewestRows> newest;
    std::shared_ptr<const HeadProfile> profile;
    std::shared_ptr<const CellExplanation> explanation;
};

/// The state that views show. Consecutive snapshots share the parts that did not change.
struct Snapshot {
    uint64_t version = 0;         ///< increases by one with each snapshot
    uint64_t sequenceVersion = 0; ///< changes when the tokens change; the parts below belong to it
    Status status;
    std::shared_ptr<const ModelInfo> model;
    std::shared_ptr<const Sequence> sequence;
    std::shared_ptr<const BranchTree> branches;
    std::shared_ptr<const NextToken> next;
    std::shared_ptr<const PatternGrid> grid;
    std::shared_ptr<const PatternTile> detail; ///< the selected head (or aggregate)
    std::shared_ptr<const NewestRows> newest;
    std::shared_ptr<const HeadProfile> profile; ///< profile of the head in the last SetProfileCommand
    std::shared_ptr<const CellExplanation> explanation;
    std::shared_ptr<const WeightView> weight;
    std::shared_ptr<const LayerInputs> layerInputs;      ///< answer to the last CaptureInputsCommand
    std::shared_ptr<const std::vector<float>> headGates; ///< [layers, heads]; 1: unchanged, 0: removed
    std::shared_ptr<const Edits> edits;                  ///< null: none
    bool isEdited = false;                               ///< at least one gate is not 1, or there are edits
    std::shared_ptr<const NextToken> unedited; ///< `next` of the original run; null while unedited or generating
    std::shared_ptr<const UneditedViews> uneditedViews; ///< as `unedited`, if WantUneditedCommand asks for them
    std::map<std::string, std::shared_ptr<const AnalysisResult>> analyses; ///< the last result by Analysis::key()
    /// Results on the original run, for the analyses that ran while WantUneditedCommand asked for it.
    std::map<std::string, std::shared_ptr<const AnalysisResult>> uneditedAnalyses;
    std::optional<ShowWeightsCommand> shown; ///< the checkpoint that the model shows
    std::optional<Failure> failure;          ///< failure of the last command; null after a success
    uint64_t failureCount = 0;               ///< number of failures; tells a repeated failure from an old one
    /// The path that opens this model with these weights again.
    std::string path() const { return shown ? shown->path : model ? model->path : std::string(); }
    std::string finishedExport; ///< path written by the last CaptureCommand
};

} // namespace attn
