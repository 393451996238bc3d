#include "engine/data/image_data.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A data set of pictures. The first byte is odd for a batch of CIFAR-10, which is the rest. Otherwise it is half the
/// number of bytes that follow of the pictures of MNIST, and the labels are the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view rest = fuzz::textOf(data + 1, size - 1);
    const bool isCifar = data[0] % 2 == 1;
    static const fuzz::Folder idx, cifar;
    const fuzz::Folder& folder = isCifar ? cifar : idx;
    if (isCifar) {
        folder.write("data_batch_1.bin", rest);
        folder.write("test_batch.bin", rest);
    } else {
        const size_t pictures = std::min<size_t>(data[0], rest.size());
        for (const std::string part : {"train", "t10k"}) {
            folder.write(part + "-images-idx3-ubyte", rest.substr(0, pictures));
            folder.write(part + "-labels-idx1-ubyte", rest.substr(pictures));
        }
    }
    fuzz::mayRefuse([&] {
        const ImageData set = readImageData(folder.path(), {8, 8});
        for (size_t i = 0; i < set.classes.size(); ++i) {
            fuzz::require(set.picture(i).rgb.size() == static_cast<size_t>(set.size.area() * 3),
                          "every picture has all its pixels");
            fuzz::require(static_cast<size_t>(set.classes[i]) < set.names.size(), "every class has a name");
        }
    });
    return 0;
}
