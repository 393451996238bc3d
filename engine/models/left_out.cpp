#include "engine/models/left_out.h"

#include "engine/core/quoting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace attn {
namespace {

constexpr size_t kMostExamples = 4;

/// A few of many names: those of numbered layers once.
std::string examplesOf(const std::vector<std::string>& names) {
    std::set<std::string> kinds;
    std::vector<std::string> shown;
    for (const std::string& name : names) {
        std::string kind = name;
        std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
        if (kinds.insert(kind).second && shown.size() < kMostExamples) shown.push_back(inQuotes(name));
    }
    return fmt::format("{}{}", names.size() > shown.size() ? "such as " : "", fmt::join(shown, ", "));
}

/// A sentence about the fields that are left out for one reason; empty: there are none.
std::string fieldsOf(const std::vector<LeftOut::Field>& fields, LeftOut::Field::Reason reason, const char* why) {
    constexpr size_t kMost = 8;
    std::vector<std::string> shown;
    size_t count = 0;
    for (const LeftOut::Field& field : fields)
        if (field.reason == reason && ++count <= kMost)
            shown.push_back(fmt::format("{}: {}{}", inQuotes(field.path), field.value,
                                        field.instead.empty() ? "" : " (" + field.instead + ")"));
    if (count == 0) return {};
    return fmt::format("config.json asks for {} {}: {}{}", count == 1 ? "a setting" : fmt::format("{} settings", count),
                       why, fmt::join(shown, ", "), count > kMost ? fmt::format(" and {} more", count - kMost) : "");
}

} // namespace

std::vector<std::string> sentencesOf(const LeftOut& leftOut) {
    std::vector<std::string> sentences;
    if (const size_t count = leftOut.tensors.size(); count > 0)
        sentences.push_back(fmt::format("the files hold {} that this program does not use{} {}",
                                        count == 1 ? "a tensor" : fmt::format("{} tensors", count),
                                        count > 1 ? "," : ":", examplesOf(leftOut.tensors)));
    if (const auto& repeats = leftOut.repeats; !repeats.empty()) {
        std::vector<std::string> shown;
        for (const WeightSource::Repeat& each : repeats)
            if (shown.size() < kMostExamples)
                shown.push_back(fmt::format("{} of {}, not of {}", inQuotes(each.tensor), printable(each.used),
                                            printable(each.file)));
        const size_t more = repeats.size() - shown.size();
        sentences.push_back(fmt::format("several files hold the same tensor; the last of them by name counts, as in "
                                        "transformers: {}{}",
                                        fmt::join(shown, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
    }
    using Reason = LeftOut::Field::Reason;
    for (const auto& [reason, why] :
         {std::pair{Reason::Unknown, "that this program does not know"},
          {Reason::OtherFamilies, "that this program obeys in other families of models only"},
          {Reason::NotObeyed, "that this program does not obey"},
          {Reason::Replaced, "that another field replaces"}})
        if (const std::string fields = fieldsOf(leftOut.fields, reason, why); !fields.empty())
            sentences.push_back(fields);
    if (!leftOut.files.empty()) {
        const bool hasAdapter =
            std::ranges::any_of(leftOut.files, [](const std::string& name) { return name.starts_with("adapter_"); });
        const std::string examples = examplesOf(leftOut.files);
        sentences.push_back(fmt::format("beside the model {} {}{}, which this program leaves out{}",
                                        leftOut.files.size() == 1 ? "lies" : "lie",
                                        examples.starts_with("such as") ? "files " : "", examples,
                                        hasAdapter ? ": the model runs without its adapter" : ""));
    }
    return sentences;
}

} // namespace attn
