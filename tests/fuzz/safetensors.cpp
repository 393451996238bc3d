#include "engine/io/safetensors.h"
#include "tests/fuzz/fuzz.h"

#include <span>

using namespace attn;

/// The header of a safetensors file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::mayRefuse([&] {
        const SafetensorsHeader header =
            parseSafetensorsHeader(std::as_bytes(std::span(data, size)), size, "model.safetensors");
        for (const auto& [name, tensor] : header.tensors) {
            fuzz::require(tensor.begin <= tensor.end && tensor.end <= size - header.dataBegin,
                          "a tensor lies inside its file");
            fuzz::require(static_cast<uint64_t>(tensor.elements() * dtypeSize(tensor.dtype)) ==
                              tensor.end - tensor.begin,
                          "a tensor has as many bytes as its shape needs");
        }
    });
    return 0;
}
