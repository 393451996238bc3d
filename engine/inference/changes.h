#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// A change to the value x of a hook while a model runs.
struct ValueChange {
    enum class Kind : uint8_t {
        Zero, ///< x becomes (1 - amount) x
        Mean, ///< (1 - amount) x + amount * mean over the tokens of a text
        /// (1 - amount) x + amount * value from the run on a text.
        /// @source Vig et al. 2020, "Causal Mediation Analysis for Interpreting Neural NLP: The Case of Gender Bias",
        ///         arXiv:2004.12265: values come from the run on another text. Meng et al. 2022, arXiv:2202.05262,
        ///         section 2, patch between runs on one text, with and without noise on its embeddings; ours does not.
        Patch,
        /// x + amount * (value from the run on a text - value from the run on another).
        /// @source Turner et al. 2023, arXiv:2308.10248
        Steer
    };
    Kind kind = Kind::Zero;
    std::string hook;       ///< "blocks.1.attn.hook_z", "blocks.0.hook_mlp_out", "blocks.2.hook_resid_pre" ...
    int head = -1;          ///< head, for hooks with heads; -1: all
    int position = -1;      ///< token to change; -1: all
    float amount = 1;       ///< share to replace, or factor of the added value
    std::string text{};     ///< text whose run gives the value; empty: the prompt, in the original run
    int textPosition = -1;  ///< token of `text`; -1: the token to change, for Steer the last
    std::string contrast{}; ///< Steer: text whose last token gives the value to subtract
    bool operator==(const ValueChange&) const = default;
};

/// A change that sets rows of a head's pattern. The rest of the model uses these rows.
struct PatternChange {
    enum class Kind : uint8_t {
        Rows,   ///< the rows in `rows`
        Pin,    ///< every query that sees the key attends only to it
        Uniform ///< every query attends evenly to all visible keys
    };
    int site = 0, head = 0;
    Kind kind = Kind::Rows;
    int key = 0;                              ///< key of Pin
    std::map<int, std::vector<float>> rows{}; ///< rows of Rows by query: weights of keys from 0 on; others get 0
    bool operator==(const PatternChange&) const = default;
};

/// Everything done to a run: one value, and one step of undo.
struct Changes {
    std::vector<ValueChange> valueChanges;
    std::vector<PatternChange> patterns; ///< at most one per head
    /// Factors on the outputs of heads, by (site, head): 0 removes a head. A head that is not listed has gate 1.
    std::map<std::pair<int, int>, float> gates{};
    bool empty() const { return valueChanges.empty() && patterns.empty() && gates.empty(); }
    /// The gate of a head.
    float gate(int site, int head) const {
        const auto found = gates.find({site, head});
        return found == gates.end() ? 1.0f : found->second;
    }
    /// Sets the gate of a head. Gate 1 removes the entry.
    void setGate(int site, int head, float gate) {
        if (gate == 1)
            gates.erase({site, head});
        else
            gates[{site, head}] = gate;
    }
    bool operator==(const Changes&) const = default;
};

/// Whether a change takes away from all that a head adds, at every token: from its output alone, or from that of all
/// heads or of the attention of its layer.
bool takesFromHead(const ValueChange& valueChange, int site, int head);
/// The share of a head's output that its gate and such changes leave: 0 for a removed head.
float keptShare(const Changes& changes, int site, int head);

/// The text in a list of changes: "layer 1, head 0 removed".
std::string describe(const ValueChange& valueChange);
std::string describe(const PatternChange& change);

/// Writes changes as in session files.
std::string changesToJson(const Changes& changes);
/// Reads changes from a session file. @throws Error naming the field
Changes changesFromJson(const std::string& json);

} // namespace attn
