#include "app/lab/bridge/sampling_fields.h"

#include <cassert>
#include <cctype>
#include <cmath>
#include <functional>
#include <string>

namespace attn {
namespace {

struct Field {
    std::string_view id; ///< small letters only
    bool isUsedWhenGreedy;
    double (*get)(const Sampling&);
    void (*set)(Sampling&, double);
};

constexpr Field kFields[] = {
    {"greedy", true, [](const Sampling& s) { return s.greedy ? 1.0 : 0.0; },
     [](Sampling& s, double v) { s.greedy = v != 0; }},
    {"temperature", false, [](const Sampling& s) { return static_cast<double>(s.temperature); },
     [](Sampling& s, double v) { s.temperature = static_cast<float>(v); }},
    {"topk", false, [](const Sampling& s) { return static_cast<double>(s.topK); },
     [](Sampling& s, double v) { s.topK = static_cast<int>(std::lround(v)); }},
    {"topp", false, [](const Sampling& s) { return static_cast<double>(s.topP); },
     [](Sampling& s, double v) { s.topP = static_cast<float>(v); }},
    {"minp", false, [](const Sampling& s) { return static_cast<double>(s.minP); },
     [](Sampling& s, double v) { s.minP = static_cast<float>(v); }},
    {"repetitionpenalty", true, [](const Sampling& s) { return static_cast<double>(s.repetitionPenalty); },
     [](Sampling& s, double v) { s.repetitionPenalty = static_cast<float>(v); }},
    {"seed", false, [](const Sampling& s) { return static_cast<double>(s.seed); },
     [](Sampling& s, double v) { s.seed = static_cast<uint64_t>(v); }},
};

const Field& field(std::string_view id) {
    std::string plain;
    for (const char c : id)
        if (std::isalnum(static_cast<unsigned char>(c)))
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Field& candidate : kFields)
        if (candidate.id == plain) return candidate;
    assert(false && "a sampling Param without a field");
    return kFields[0];
}

} // namespace

double samplingValue(const Sampling& sampling, std::string_view id) { return field(id).get(sampling); }

void setSamplingValue(Sampling& sampling, std::string_view id, double value) { field(id).set(sampling, value); }

bool isSamplingFieldUsed(const Sampling& sampling, std::string_view id) {
    return !sampling.greedy || field(id).isUsedWhenGreedy;
}

} // namespace attn
