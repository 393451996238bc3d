#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attn {

/// One change to what flows through a hook while a model runs.
struct Intervention {
    enum class Kind : uint8_t {
        Zero,  ///< x becomes (1 - amount) x
        Mean,  ///< (1 - amount) x + amount times the mean over the tokens of a text
        Patch, ///< (1 - amount) x + amount times the value in the run of a text. @source Vig et al. 2020,
               ///< arXiv:2004.12265; Meng et al. 2022, arXiv:2202.05262
        Steer  ///< x + amount times the value in the run of a text, less that of another. @source Turner et al. 2023,
               ///< arXiv:2308.10248
    };
    Kind kind = Kind::Zero;
    std::string hook;       ///< "blocks.1.attn.hook_z", "blocks.0.hook_mlp_out", "blocks.2.hook_resid_pre" ...
    int head = -1;          ///< of a hook that has heads; -1: all
    int position = -1;      ///< token that is changed; -1: every one
    float amount = 1;       ///< share that is replaced, or factor of what is added
    std::string text{};     ///< where the value is taken from; empty: the prompt, unedited
    int textPosition = -1;  ///< its token; -1: the same as the one that is changed, for Steer the last
    std::string contrast{}; ///< Steer: of whose last token the value is taken away
    bool operator==(const Intervention&) const = default;
};

/// Rows of one head's pattern that are set by hand; the rest of the model runs on them.
struct PatternEdit {
    enum class Kind : uint8_t {
        Rows,   ///< those given
        Pin,    ///< every query that sees the key looks at nothing else
        Uniform ///< every query looks at all it sees alike
    };
    int layer = 0, head = 0;
    Kind kind = Kind::Rows;
    int key = 0;                              ///< of Pin
    std::map<int, std::vector<float>> rows{}; ///< of Rows, by query: weights of keys from 0 on; the others get 0
    bool operator==(const PatternEdit&) const = default;
};

/// Everything that is changed about a model while it runs, but for its head gates.
struct Edits {
    std::vector<Intervention> interventions;
    std::vector<PatternEdit> patterns; ///< one for a head at most
    bool empty() const { return interventions.empty() && patterns.empty(); }
    bool operator==(const Edits&) const = default;
};

/// "layer 1, head 0 removed": what a list of changes says of it.
std::string describe(const Intervention& intervention);
std::string describe(const PatternEdit& edit);

/// As session files keep them.
std::string editsToJson(const Edits& edits);
/// @throws Error that names the field
Edits editsFromJson(const std::string& json);

} // namespace attn
