#include "engine/io/tensor_writer.h"
#include "engine/io/weight_source.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

namespace {

/// A model of two shards without an index.
class ShardFolder : public fuzz::Folder {
public:
    ShardFolder() {
        const std::vector<float> values{1, 2, 3};
        write("config.json", "{}");
        const WrittenTensor x{.name = "x", .shape = {3}, .values = values};
        const WrittenTensor y{.name = "y", .shape = {1, 3}, .values = values};
        writeSafetensors(*this / "a.safetensors", std::span(&x, 1));
        writeSafetensors(*this / "b.safetensors", std::span(&y, 1));
    }
};

} // namespace

/// model.safetensors.index.json: which file holds which tensor.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const ShardFolder folder;
    folder.write("model.safetensors.index.json", fuzz::textOf(data, size));
    fuzz::mayRefuse([&] {
        const WeightSource weights(folder.path());
        for (const std::string& name : weights.names()) {
            std::vector<float> values(static_cast<size_t>(weights.tensor(name).elements()));
            weights.read(name, 0, values);
        }
    });
    return 0;
}
