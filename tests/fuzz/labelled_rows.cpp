#include "engine/data/labelled_rows.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <array>

using namespace attn;

/// A table of labelled texts or pictures. The first byte chooses the format, the kind of labels and what has them; the
/// rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    constexpr std::array<const char*, 4> kNames{"rows.csv", "rows.tsv", "rows.jsonl", "rows.json"};
    constexpr std::array kKinds{LabelKind::One, LabelKind::Several, LabelKind::Number};
    static const fuzz::Folder folder;
    const std::filesystem::path file = folder.write(kNames[data[0] % kNames.size()], fuzz::textOf(data + 1, size - 1));
    const bool ofPictures = (data[0] & 0x40) != 0;
    fuzz::mayRefuse([&] {
        for (const LabelledRow& row :
             readLabelledRows(file, {"good", "bad", "0"}, kKinds[data[0] / 4 % 3], ofPictures)) {
            fuzz::require(row.targets.size() == 3, "every row has a target for each label");
            fuzz::require(ofPictures ? row.picture.string().starts_with(folder.path().string()) : !row.text.empty(),
                          "every row has a text, or a picture in the folder");
        }
    });
    return 0;
}
