#include "engine/attention/mask/expression.h"

#include "engine/attention/mask/catalogue.h"
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/parts.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

bool MaskExpression::Node::isContent() const { return kind == Kind::Term && part->mask.row == nullptr; }

MaskExpression::MaskExpression() : root_{.kind = Kind::Term, .part = &kFullMask} {}

MaskExpression MaskExpression::causal() { return MaskExpression(Node{.kind = Kind::Term, .part = &kCausalMask}); }

MaskExpression MaskExpression::within(int64_t reach) {
    return MaskExpression(
        Node{.kind = Kind::Term, .part = &kWindowMask, .values = {static_cast<double>(reach)}, .prepared = {}});
}

MaskExpression MaskExpression::operator&(const MaskExpression& other) const {
    Node both{.kind = Kind::And};
    for (const MaskExpression* each : {this, &other})
        both.operands.insert(both.operands.end(), each->factors().begin(), each->factors().end());
    return MaskExpression(std::move(both));
}

std::string MaskExpression::text() const {
    std::string text;
    write(root_, text);
    return text;
}

void MaskExpression::write(const Node& node, std::string& text) {
    const auto list = [&](std::string_view opening, std::string_view between, std::string_view closing) {
        text += opening;
        for (size_t i = 0; i < node.operands.size(); ++i) {
            if (i != 0) text += between;
            // Only | under & and either under ~ bind less tightly than what they stand in.
            const Kind inner = node.operands[i].kind;
            const bool needsBrackets = (node.kind == Kind::And && inner == Kind::Or) ||
                                       (node.kind == Kind::Not && (inner == Kind::Or || inner == Kind::And));
            if (needsBrackets) text += '(';
            write(node.operands[i], text);
            if (needsBrackets) text += ')';
        }
        text += closing;
    };
    switch (node.kind) {
    case Kind::Term:
        text += termText(*node.part, node.values);
        break;
    case Kind::Not:
        list("~", "", "");
        break;
    case Kind::And:
        list("", " & ", "");
        break;
    case Kind::Or:
        list("", " | ", "");
        break;
    case Kind::PerHead:
        list("per_head(", ", ", ")");
        break;
    case Kind::PerLayer:
        list("per_layer(", ", ", ")");
        break;
    }
}

void MaskExpression::row(const MaskSize& size, int64_t query, BitRow& row) const {
    row.reset(size.keys);
    fill(root_, size, query, row);
}

void MaskExpression::fill(const Node& node, const MaskSize& size, int64_t query, BitRow& row) {
    switch (node.kind) {
    case Kind::Term:
        if (node.isContent())
            throw Error({.what = fmt::format("{} hides cells by their content, so it has no fixed mask", node.part->id),
                         .where = "mask",
                         .hint = "run it in an attention to see what it hides"});
        node.part->mask.row({size, {node.part->params, node.values}, node.prepared}, query, row);
        break;
    case Kind::Not:
        fill(node.operands[0], size, query, row);
        row.complement();
        break;
    case Kind::And:
    case Kind::Or: {
        fill(node.operands[0], size, query, row);
        BitRow other;
        for (const Node& operand : std::span(node.operands).subspan(1)) {
            other.reset(row.size());
            fill(operand, size, query, other);
            if (node.kind == Kind::And)
                row &= other;
            else
                row |= other;
        }
        break;
    }
    case Kind::PerHead:
        fill(node.operands[static_cast<size_t>(size.head) % node.operands.size()], size, query, row);
        break;
    case Kind::PerLayer:
        fill(node.operands[static_cast<size_t>(size.layer) % node.operands.size()], size, query, row);
        break;
    }
}

bool MaskExpression::contains(const Node& node, Kind kind) {
    return node.kind == kind ||
           std::ranges::any_of(node.operands, [&](const Node& operand) { return contains(operand, kind); });
}
bool MaskExpression::dependsOnHead() const { return contains(root_, Kind::PerHead); }
bool MaskExpression::dependsOnLayer() const { return contains(root_, Kind::PerLayer); }

void MaskExpression::change(Node& node, const TermChange& change) {
    for (Node& operand : node.operands) MaskExpression::change(operand, change);
    if (node.kind == Kind::Term) change(*node.part, node.values);
}

MaskExpression MaskExpression::changed(const TermChange& change) const {
    MaskExpression result = *this;
    MaskExpression::change(result.root_, change);
    return result;
}

MaskExpression MaskExpression::narrowed(int64_t divisor) const {
    MaskExpression result = changed([&](const Part& part, std::span<double> values) {
        if (part.mask.windowWidth.empty()) return;
        const auto param = std::ranges::find(part.params, part.mask.windowWidth, &Param::id);
        double& width = values[static_cast<size_t>(param - part.params.begin())];
        width = std::max(param->minimum, std::floor(width / static_cast<double>(divisor)));
    });
    if (result.root_ != root_) result.divisor_ = divisor;
    return result;
}

std::optional<MaskBand> MaskExpression::band() const {
    constexpr int64_t kEverywhere = std::numeric_limits<int64_t>::max();
    MaskBand band{kEverywhere, kEverywhere};
    for (const Node& factor : factors()) {
        if (factor.kind != Kind::Term || !factor.part->mask.band) return {};
        const MaskBand own = factor.part->mask.band({factor.part->params, factor.values});
        band = {std::min(band.behind, own.behind), std::min(band.ahead, own.ahead)};
    }
    return band;
}

MaskSight MaskExpression::sight(MaskSize size) const {
    const MaskExpression fixed = staticPart();
    if (const auto band = fixed.band(); band && size.queries == size.keys) {
        const int64_t most = size.keys - 1;
        if (band->behind >= most && band->ahead >= most) return MaskSight::All;
        if (band->ahead > 0) return MaskSight::Ahead;
        return band->behind >= most ? MaskSight::Past : MaskSight::Back;
    }
    bool isAll = true, isPast = true, isAhead = false;
    BitRow keys, past;
    for (size.head = 0; size.head < (dependsOnHead() ? size.heads : 1); ++size.head)
        for (int64_t query = 0; query < size.queries; ++query) {
            fixed.row(size, query, keys);
            past.reset(size.keys);
            past.setRange(0, query + 1);
            isAll = isAll && keys.count() == size.keys;
            isPast = isPast && keys == past;
            isAhead = isAhead || keys.anyFrom(query + 1);
        }
    return isAll ? MaskSight::All : isPast ? MaskSight::Past : isAhead ? MaskSight::Ahead : MaskSight::Back;
}

std::span<const MaskExpression::Node> MaskExpression::factors() const {
    return root_.kind == Kind::And ? std::span(root_.operands) : std::span(&root_, 1);
}

std::vector<MaskExpression::ContentTerm> MaskExpression::contentTerms() const {
    std::vector<ContentTerm> terms;
    for (const Node& factor : factors())
        if (factor.isContent()) terms.push_back({factor.part, factor.values});
    return terms;
}

MaskExpression MaskExpression::staticPart() const {
    Node rest{.kind = Kind::And};
    std::ranges::copy_if(factors(), std::back_inserter(rest.operands),
                         [](const Node& node) { return !node.isContent(); });
    if (rest.operands.empty()) return {};
    if (rest.operands.size() == 1) {
        Node only = std::move(rest.operands.front());
        return MaskExpression(std::move(only));
    }
    return MaskExpression(std::move(rest));
}

} // namespace attn
