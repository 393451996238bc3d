#include "engine/training/tasks/readout_task.h"

#include "engine/data/draws.h"
#include "engine/data/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace attn {

Batch ReadoutTask::batch(Split split, uint64_t index, int rows) const {
    requireRows(rows);
    const auto count = static_cast<size_t>(rows), width = static_cast<size_t>(contextLength()),
               columns = static_cast<size_t>(columns_);
    Batch batch{.rows = rows};
    batch[Batch::kInputs].assign(count * width, Batch::kIgnored);
    if (columns > 0) batch[Batch::kTargets].assign(count * columns, Batch::kIgnored);
    const size_t labelCount = columns > 0 ? 0 : labels().size();
    if (columns == 0)
        batch.numbers[Batch::kTargets].assign(count * labelCount, std::numeric_limits<float>::quiet_NaN());
    batch[Batch::kTypes].assign(count * width, 0);
    if (hidesTokens()) batch[Batch::kClasses].assign(count, Batch::kIgnored);
    for (size_t at = 0; at < count; ++at) {
        const uint64_t number = index * count + at;
        if (split != Split::Train && number >= validationRows_) continue; // beyond the end: no targets
        const ReadoutRow row = rowAt(split, number);
        const auto to = [at](auto& values, size_t each) {
            return values.begin() + static_cast<std::ptrdiff_t>(at * each);
        };
        std::ranges::copy(row.tokens, to(batch[Batch::kInputs], width));
        std::ranges::copy(row.types, to(batch[Batch::kTypes], width));
        if (columns > 0) std::ranges::copy(row.targets, to(batch[Batch::kTargets], columns));
        if (columns == 0) std::ranges::copy(row.numbers, to(batch.numbers[Batch::kTargets], labelCount));
        if (!row.parents.empty()) {
            batch[Batch::kParents].resize(count * width, Batch::kIgnored);
            std::ranges::copy(row.parents, to(batch[Batch::kParents], width));
        }
        if (row.textClass) batch[Batch::kClasses][at] = *row.textClass;
    }
    return batch;
}

Example ReadoutTask::example(Split split, uint64_t index) const {
    ReadoutRow row = rowAt(split, split == Split::Train ? index : index % validationRows_);
    std::erase(row.targets, Batch::kIgnored);
    if (row.textClass) row.targets.insert(row.targets.begin(), *row.textClass);
    return {.prompt = std::move(row.tokens),
            .answer = std::move(row.targets),
            .parents = std::move(row.parents),
            .numbers = std::move(row.numbers)};
}

std::optional<uint64_t> ReadoutTask::rowCount(Split split) const {
    return split == Split::Train ? std::nullopt : std::optional(validationRows_);
}

ReadoutRow ListedReadoutTask::rowAt(Split split, uint64_t index) const {
    if (split != Split::Train) return validation_.at(index);
    return train_[static_cast<size_t>(Draws(seed(), index, 0).below(static_cast<int>(train_.size())))];
}

bool isForValidation(std::string_view text) { return hashOf(text) % 10 == 0; }

void shorten(Encoding& encoding, const Tokenizer& tokenizer, size_t most) {
    if (encoding.ids.size() <= most) return;
    const auto isAround = [&](size_t i) { // a special token that stands in the text has the bytes of its name
        return tokenizer.isSpecial(encoding.ids[i]) && encoding.ranges[i].begin == encoding.ranges[i].end;
    };
    std::array<std::vector<size_t>, 2> places{}; // of the tokens of each text
    for (size_t i = 0; i < encoding.ids.size(); ++i)
        if (!isAround(i)) places[i < encoding.texts.size() && encoding.texts[i] == 1 ? 1 : 0].push_back(i);
    std::vector<bool> isRemoved(encoding.ids.size(), false);
    for (size_t left = encoding.ids.size(); left > most; --left) {
        std::vector<size_t>& longer = places[places[1].size() > places[0].size() ? 1 : 0];
        if (longer.empty()) break; // only the tokens around the texts are left
        isRemoved[longer.back()] = true;
        longer.pop_back();
    }
    const auto keep = [&](auto& values) {
        size_t kept = 0;
        for (size_t i = 0; i < values.size(); ++i)
            if (!isRemoved[i]) values[kept++] = values[i];
        values.resize(kept);
    };
    keep(encoding.ids);
    keep(encoding.ranges);
    keep(encoding.types);
    keep(encoding.texts);
}

void requireNoNames(std::string_view task, std::string_view text) {
    if (const size_t line = lineOfNames(text); line > 0)
        failParameter(task, "text", fmt::format("line {} holds the names of columns", line), "remove this line");
}

void requireBoth(std::string_view task, size_t train, size_t validation) {
    if (train > 0 && validation > 0) return;
    failParameter(task, "text",
                  fmt::format("the file has {} examples for training and {} for validation, which is a tenth of them",
                              train, validation),
                  "choose a file with more examples");
}

} // namespace attn
