#pragma once

#include "engine/attention/mask/mask_size.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

class BitRow;
struct MaskBand;
struct Part;

/// The keys that queries see, worked out from the rule at one size and not from its spelling.
enum class MaskSight : uint8_t {
    All,  ///< every key
    Past, ///< exactly their own position and those before it
    Back, ///< less than Past
    Ahead ///< some key after their own position, but not every key
};

/// A mask as a formula over the terms of the catalogue: `causal & (window(32) | global(2))`.
///
/// `~` binds tightest, then `&`, then `|`; brackets work as usual. `per_head(a, b, ...)` is a for head 0, b for head 1
/// and so on, cyclically; `per_layer(a, b, ...)` does the same by layer. A term that depends on the content has no row
/// of bits. It may only be an operand of the outermost `&`, so that it can be split off.
class MaskExpression {
public:
    /// The mask `full`.
    MaskExpression();
    /// Parses an expression. @param known the terms that the text may name; by default those of the catalogue
    /// @throws Error with the position, what was expected and the nearest name if the text is not an expression
    static MaskExpression parse(std::string_view text);
    static MaskExpression parse(std::string_view text, std::span<const Part* const> known);
    /// The mask of a decoder: a query sees its own position and those before it.
    static MaskExpression causal();
    /// A query sees the keys fewer than `reach` positions away.
    static MaskExpression within(int64_t reach);
    /// The keys that both masks show.
    MaskExpression operator&(const MaskExpression& other) const;

    /// The expression without needless brackets or blanks; it parses back to an equal expression.
    std::string text() const;
    /// Compares formulas up to the order of brackets: (a & b) & c equals a & (b & c), but b & a differs from a & b.
    bool operator==(const MaskExpression&) const = default;

    /// Computes the keys that a query sees. @param row receives them; its length becomes size.keys
    /// @throws Error if a term depends on the content, or is undefined for the size
    void row(const MaskSize& size, int64_t query, BitRow& row) const;

    /// Whether heads or layers may have different masks.
    bool dependsOnHead() const;
    bool dependsOnLayer() const;
    /// The band around each query that is visible at any size, for masks that are intersections of bands; nothing for
    /// others.
    std::optional<MaskBand> band() const;
    /// The keys that the queries of all heads see. Leaves out terms that depend on the content. @throws Error like row
    MaskSight sight(MaskSize size) const;

    /// Sets the values of one term, in the order of Part::params.
    using TermChange = std::function<void(const Part& part, std::span<double> values)>;
    /// The same expression with other values of its terms, which must be in range. Of terms without
    /// MaskTraits::prepare.
    MaskExpression changed(const TermChange& change) const;
    /// The same expression with windows that are narrower by a divisor, but at least as wide as their parameter allows.
    MaskExpression narrowed(int64_t divisor) const;
    /// The divisor of narrowed() that made this expression another one; 1: none did.
    int64_t divisor() const { return divisor_; }

    /// A term that hides cells depending on their content.
    struct ContentTerm {
        const Part* part;
        std::vector<double> values;
        bool operator==(const ContentTerm&) const = default;
    };
    /// The operands of the outermost `&` that depend on the content.
    std::vector<ContentTerm> contentTerms() const;
    /// The expression without contentTerms().
    MaskExpression staticPart() const;

private:
    friend class MaskParser;

    enum class Kind : uint8_t { Term, Not, And, Or, PerHead, PerLayer };
    struct Node {
        Kind kind = Kind::Term;
        const Part* part = nullptr;   ///< of a term
        std::vector<double> values{}; ///< of a term, checked
        std::vector<int64_t> prepared{};
        std::vector<Node> operands{}; ///< 1 for Not, 2 or more for And and Or, none of their own kind
        bool operator==(const Node&) const = default;

        bool isContent() const;
    };

    explicit MaskExpression(Node root) : root_(std::move(root)) {}
    static void fill(const Node& node, const MaskSize& size, int64_t query, BitRow& row);
    static void write(const Node& node, std::string& text);
    static bool contains(const Node& node, Kind kind);
    static void change(Node& node, const TermChange& change);
    /// The operands of the outermost `&`: the root itself if there is none.
    std::span<const Node> factors() const;

    Node root_;
    int64_t divisor_ = 1;
};

} // namespace attn
