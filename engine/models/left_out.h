#pragma once

#include "engine/io/weight_source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// The contents of a model's folder that this program does not use.
struct LeftOut {
    struct Field {
        enum class Reason : uint8_t {
            Unknown,       ///< this program does not know the field
            OtherFamilies, ///< only other families of models obey it
            NotObeyed,     ///< transformers obeys it, and this program does not
            Replaced       ///< another field of the file counts in its place
        };
        std::string path;  ///< "sliding_window", "rope_scaling.beta_fast"
        std::string value; ///< the beginning of its JSON
        Reason reason = Reason::Unknown;
        std::string instead{}; ///< what this program does in its place; may be empty
        bool operator==(const Field&) const = default;
    };
    std::vector<std::string> tensors;          ///< sorted names
    std::vector<WeightSource::Repeat> repeats; ///< tensors that several files hold
    std::vector<Field> fields;                 ///< of config.json, that may change numbers
    std::vector<std::string> files;            ///< names of adapters and other weights beside the model
    bool operator==(const LeftOut&) const = default;
};

/// Messages about them for the user, a sentence for each kind. Long lists are shortened.
std::vector<std::string> sentencesOf(const LeftOut& leftOut);

} // namespace attn
