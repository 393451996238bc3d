#include "engine/inference/label_scores.h"
#include "engine/training/forward_copy.h"
#include "engine/training/trainer.h"
#include "engine/training/trainer_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

// What a trainer says of examples, and how it measures that.

namespace attn {
namespace {

const std::string kEvaluated = "evaluation."; ///< before the names of states that evaluations carry

double share(int64_t part, int64_t all) {
    return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(all, 1));
}

/// What was found out about the targets of one loss.
struct Tally {
    double loss = 0;
    int64_t targets = 0, right = 0, rightRows = 0;
    std::vector<float> given{};     ///< of a loss that reads numbers: [targets, width]
    std::vector<double> expected{}; ///< the same size

    /// @return whether all targets of a row of the batch are right
    bool add(const NamedLoss& named, const Batch& batch, const Said& said, int64_t row) {
        const LossTargets all(named, batch);
        const auto losses = said.losses(named.name);
        bool isRight = true;
        for (int64_t column = 0; column < all.columns(); ++column) {
            if (!all.has(row, column)) continue;
            const int64_t at = row * named.perRow + column;
            const bool isFound = named.hasChoices() && said.best(named.name, at) == all.choice(row, column);
            loss += static_cast<double>(losses[static_cast<size_t>(at)]);
            if (named.readsNumbers()) {
                std::ranges::copy(said.numbers(named.name, at, named.width), std::back_inserter(given));
                std::ranges::copy(all.numbers(row, column), std::back_inserter(expected));
            }
            ++targets;
            right += isFound ? 1 : 0;
            isRight = isRight && isFound;
        }
        rightRows += isRight ? 1 : 0;
        return isRight;
    }
    double mean() const { return loss / static_cast<double>(std::max<int64_t>(targets, 1)); }
    double metric(Task::Metric metric, int64_t rows) const {
        switch (metric) {
        case Task::Metric::ExactMatch:
            return share(rightRows, rows);
        case Task::Metric::TokenMatch:
            return share(right, targets);
        case Task::Metric::Bits:
            return mean() / std::numbers::ln2;
        case Task::Metric::Loss:
            break;
        }
        return mean();
    }
};

} // namespace

GpuExecutor& Trainer::evaluator() {
    if (!evaluator_) {
        Objective::Forward model = adapted(objective_->forward(evaluationRows_, 0));
        if (!model.updates.empty()) { // beside those of training
            const auto graph = std::make_shared<Graph>();
            model = copyOf(std::move(model), graph, [&](const Node& source) {
                return sourceLike(source, *graph, source.kind == NodeKind::State ? kEvaluated : "");
            });
            std::vector<std::pair<std::string, Shape>> room;
            for (const auto& [name, next] : model.updates) room.emplace_back(kEvaluated + name, next.shape());
            store_->reserve(room);
        }
        std::map<std::string, Tensor> outputs = objective_->views(model);
        for (const NamedLoss& loss : model.losses) {
            outputs[Said::nameOfLosses(loss.name)] = lossesOf(loss);
            if (loss.hasChoices()) outputs[Said::nameOfBest(loss.name)] = topK(loss.prediction, 1).indices;
            if (loss.readsNumbers()) outputs[Said::nameOfNumbers(loss.name)] = loss.prediction;
        }
        for (const auto& [name, next] : model.updates) outputs.emplace("carried." + name, next);
        evaluator_ = makeExecutor(model, outputs, {.cutsFinely = execution_.cutsFinely});
    }
    return *evaluator_;
}

Said Trainer::say(const Batch& batch) { return say(batch, false); }

/// @param continues whether rows continue those of the batch before
Said Trainer::say(const Batch& batch, bool continues) {
    GpuExecutor& executor = evaluator();
    for (const std::string& name : carried_)
        if (!continues) store_->zero(kEvaluated + name);
    fill(executor, losses_, batch, {}, evaluationGates_);
    executor.run({});
    Said said(executor);
    objective_->choose(said, batch);
    return said;
}

Evaluation Trainer::evaluate(Split split, int64_t most) {
    const bool measuresExactMatch = task_.metric == Task::Metric::ExactMatch;
    const auto available = static_cast<int64_t>(objective_->rowCount(split).value_or(static_cast<uint64_t>(most)));
    const int64_t rows = std::min(most, available);
    std::vector<Tally> tallies(losses_.size());
    Evaluation result{.examples = rows};
    for (int64_t first = 0; first < rows; first += evaluationRows_) {
        const Batch batch =
            measuresExactMatch
                ? objective_->questions(split, static_cast<uint64_t>(first), evaluationRows_)
                : objective_->batch(split, static_cast<uint64_t>(first / evaluationRows_), evaluationRows_);
        const Said said = say(batch, !measuresExactMatch && first > 0);
        // Rows beyond the end have no targets; rows that continue may have others than so many from the first one on.
        const int64_t counted = carried_.empty() ? std::min<int64_t>(evaluationRows_, rows - first) : evaluationRows_;
        for (int64_t row = 0; row < counted; ++row) {
            bool isRight = true;
            for (size_t i = 0; i < losses_.size(); ++i) {
                const bool hasAll = tallies[i].add(losses_[i], batch, said, row);
                if (i == 0) isRight = hasAll;
            }
            objective_->addTo(result, split, batch, said, row, static_cast<uint64_t>(first + row), isRight);
        }
    }
    if (const NamedLoss& first = losses_.front(); first.readsNumbers()) {
        const LabelScores scores =
            labelScores(task_.activation, first.width, tallies.front().given, tallies.front().expected);
        tallies.front().rightRows = std::llround(scores.exactMatch * static_cast<double>(scores.examples));
        result.shares[first.metric] = task_.activation == ClassActivation::Sigmoid
                                          ? scores.macro().f1
                                          : meanOf(scores.numbers, &NumberScore::absoluteError);
    }
    for (size_t i = 0; i < losses_.size(); ++i) {
        const Tally& tally = tallies[i];
        if (i > 0 && tally.targets == 0) continue;
        if (i > 0 && !losses_[i].hasChoices()) {
            result.loss += losses_[i].weight * tally.mean();
            if (!losses_[i].metric.empty()) result.shares[losses_[i].metric] = tally.mean();
            continue;
        }
        if (i > 0 && !losses_.front().metric.empty()) result.shares[losses_.front().metric] = result.metric;
        result.loss += losses_[i].weight * tally.mean();
        result.metric = i == 0 ? tally.metric(task_.metric, rows) : share(tally.right, tally.targets);
    }
    requireLoss(result.loss);
    return result;
}

void Trainer::requireLoss(double loss) const {
    if (std::isfinite(loss)) return;
    throw NotFinite(
        {.what = "the loss of the examples is not a number",
         .where = std::string(task_.id),
         .hint = "look for weights that are damaged or much too large, or train with a lower learning rate"});
}

Trainer::LengthEvaluation Trainer::measure(const Objective::Forward& forward, const Batch& batch, int lastTargets) {
    const Loss loss = withLoss(adapted(forward));
    const NamedLoss& first = loss.model.losses.front();
    const auto executor = makeExecutor(loss.model, {{Said::nameOfLosses(first.name), loss.losses},
                                                    {Said::nameOfBest(first.name), topK(first.prediction, 1).indices}});
    fill(*executor, loss.model.losses, batch, {}, evaluationGates_);
    executor->run({});
    const Said said(*executor);
    const std::vector<int32_t>& targets = batch[first.name];
    const int64_t width = batch.width(first.name);
    LengthEvaluation result;
    int64_t right = 0;
    for (int64_t row = 0; row < batch.rows; ++row)
        for (int64_t column = width - 1, counted = 0; column >= 0; --column) {
            const int32_t target = targets[static_cast<size_t>(row * width + column)];
            if (target == Batch::kIgnored || (lastTargets > 0 && counted == lastTargets)) continue;
            const int64_t at = row * first.perRow + column;
            result.loss += static_cast<double>(said.losses(first.name)[static_cast<size_t>(at)]);
            right += said.best(first.name, at) == target ? 1 : 0;
            ++result.targets;
            ++counted;
        }
    const auto counted = static_cast<double>(std::max<int64_t>(result.targets, 1));
    result.loss /= counted;
    requireLoss(result.loss);
    result.accuracy = static_cast<double>(right) / counted;
    return result;
}

void Trainer::setEvaluationGate(int site, int head, float gate) {
    const std::vector<Site>& sites = objective_->structure().sites;
    const bool isSite = site >= 0 && site < static_cast<int>(sites.size());
    const int heads = sites[isSite ? static_cast<size_t>(site) : 0].heads;
    if (!isSite || head < 0 || head >= heads)
        throw Error({.what = fmt::format("there is no layer {}, head {}", site, head),
                     .where = task_.id.data(),
                     .hint = fmt::format("layers go to {}, heads to {}", sites.size() - 1, heads - 1)});
    evaluationGates_[firstGate(static_cast<size_t>(site)) + static_cast<size_t>(head)] = gate;
}

} // namespace attn
