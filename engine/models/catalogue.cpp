#include "engine/models/families.h"

#include <array>

namespace attn {

std::span<const ModelFamily* const> familyCatalogue() {
    static constexpr std::array kFamilies{
        &kGpt2, &kGptNeo,  &kGptNeoX,    &kLlama,    &kBert, &kRoberta, &kDistilBert, &kXlNet,
        &kT5,   &kBart,    &kMarian,     &kComposed, &kVit,  &kDeit,    &kDinov2,     &kDinov2WithRegisters,
        &kSwin, &kTimmVit, &kComposedVit};
    return kFamilies;
}

} // namespace attn
