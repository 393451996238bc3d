#include "engine/attention/findings.h"

#include "engine/attention/part.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::string_view kExtrapolate = "attention-cli extrapolate --text tinyshakespeare.txt --out lengths.svg";
constexpr std::string_view kMaskedText = "attention-cli train --task masked-text --text tinyshakespeare.txt --set "
                                         "vocabulary=1000 --layers 2 --steps 600 --batch 16 --attention "
                                         "'position=learned, ...' --out run";

constexpr std::string_view kPixels = "attention-cli train --task pixels --set size=8 --steps 300 --seed 1 --attention "
                                     "'position=learned_2d(rows = 8, columns = 8, leading = 1), mask=causal & ...' "
                                     "--out run, and with --seed 2";

constexpr std::array kFindings{
    Finding{Slot::Heads, "multi_head", "Several heads let a token look for several things at once.",
            "Of the questions of the task compare, two heads answer 100 %, one head answers 69 %.",
            "attention-cli train --task compare --out two, and the same with --heads 1 --out one"},
    Finding{Slot::Position, "alibi", "A model trained on short texts works on longer ones.",
            "Trained on 64 characters of Shakespeare, the loss is 1.84 at 64 characters and 1.96 at 256.",
            kExtrapolate},
    Finding{Slot::Position, "sinusoidal", "ALiBi's paper: sinusoids do not work beyond the trained length.",
            "The loss of the same model with sinusoids is 2.09 at 64 characters and 4.19 at 256.", kExtrapolate},
    Finding{Slot::Position, "rope", "ALiBi's paper: rotary positions get worse beyond the trained length.",
            "The loss is 1.70 at 64 characters and 3.27 at 256; with a window of 32 characters it is 1.83.",
            kExtrapolate},
    Finding{Slot::Position, "none",
            "A causal model without positions reaches longer texts better than one with learned ones.",
            "Without positions the loss is 2.24 at 64 characters and 2.62 at 256; with learned ones 1.90 and 3.37.",
            kExtrapolate},
    Finding{
        Slot::Position, "dependency_tree",
        "A model that is given the tree need not find out which words belong together.",
        "After 400 steps it names 100 % of the letters on which others depend, in trees that differ from text to text, "
        "with learned positions 31.7 %, without positions 31.4 %.",
        "attention-cli train --task dependencies --out tree, and with --attention position=learned or position=none"},
    Finding{Slot::Mask, "longformer", "A window with a global token is as good as full attention.",
            "Of the hidden tokens of Shakespeare it finds 13.2 %, full attention 11.7 %.", kMaskedText},
    Finding{Slot::Mask, "bigbird", "A window with global and random keys is as good as full attention.",
            "Both find 11.7 % of the hidden tokens of Shakespeare.", kMaskedText},
    Finding{Slot::Mask, "local1d", "To write pictures, a pixel needs to see only a block of the pixels before it.",
            "Held-out pictures cost 0.548 and 0.545 bits per dimension with two seeds, with full attention 0.565 and "
            "0.546: mask=causal & (local1d(16, 16) | global(1)).",
            kPixels},
    Finding{Slot::Mask, "local2d", "To write pictures, a pixel needs to see only a block of the pixels around it.",
            "Held-out pictures cost 0.561 and 0.557 bits per dimension with two seeds, with full attention 0.565 and "
            "0.546: mask=causal & local2d(8, 8, 2, 4, 2, 2, 1). Written block by block they cost 0.569 and 0.563.",
            kPixels},
    Finding{Slot::Mask, "strided", "On the pictures of CIFAR-10, the strided pattern is better than full attention.",
            "Held-out pictures cost 0.546 and 0.524 bits per dimension with two seeds, with full attention 0.565 and "
            "0.546: mask=causal & (strided(8) | global(1)).",
            kPixels},
    Finding{Slot::Mask, "fixed",
            "On the pictures of CIFAR-10, the fixed pattern is a little worse than full attention.",
            "Held-out pictures cost 0.582 and 0.566 bits per dimension with two seeds, with full attention 0.565 and "
            "0.546: mask=causal & (fixed(8, 2) | global(1)).",
            kPixels},
    Finding{
        Slot::Mask, "axial", "Attention along rows and columns loses little against full attention.",
        "Not as one causal mask, which hides what is above and to the right: held-out pictures cost 0.615 and 0.607 "
        "bits per dimension with two seeds, with full attention 0.565 and 0.546: mask=causal & axial(8, 8, 1).",
        kPixels},
    Finding{Slot::Mask, "permuted_blocks", "Heads that see single blocks, in turn with their own, lose little.",
            "They find 12.5 % of the hidden tokens of Shakespeare, full attention 11.7 %.", kMaskedText},
    Finding{Slot::Mask, "etc", "Global tokens beside a window are as good as full attention.",
            "They find 12.6 % of the hidden tokens of Shakespeare, full attention 11.7 %.", kMaskedText},
    Finding{
        Slot::Normaliser, "favor", "Orthogonal directions lower the error of the approximation.",
        "With 64 features the error of the output is 0.033 with orthogonal and 0.038 with independent directions; with "
        "512 features it is 0.013 and 0.015.",
        "attention-cli features 'normaliser=favor' 'normaliser=favor(orthogonal = 0)'"},
    Finding{
        Slot::Normaliser, "rfa",
        "Random features of unit vectors approximate the softmax, and more features do so better.",
        "The error of the output is 0.033 with 64 features and 0.011 with 512: it falls with the root of their number.",
        "attention-cli features 'normaliser=rfa' 'normaliser=rfa(orthogonal = 1)'"},
    Finding{Slot::Normaliser, "linformer", "Attention over 16 projected rows is as good as over all rows.",
            "Both find 11.7 % of the hidden tokens of Shakespeare.", kMaskedText},
    Finding{Slot::Mixer, "fnet", "A Fourier transform reaches 92 to 97 % of BERT's accuracy.",
            "Not here: of the hidden tokens of Shakespeare it finds 9.5 %, attention 11.7 %.", kMaskedText},
    Finding{
        Slot::Residual, "pre_norm",
        "Models with norms before the sublayers train without a warm-up; with norms after the sums they do not.",
        "Six layers at a learning rate of 0.005 without warm-up, 300 steps of copying, with the seeds 0, 1 and 2: "
        "92.9, "
        "100 and 99.6 % exact answers with norms before, 0 % with norms after. After 200 steps it is 0, 100 and 14.5 "
        "%.",
        "attention-cli train --task copy --layers 6 --lr 5e-3 --warmup 0 --steps 300 --attention 'position=learned, "
        "residual=pre_norm, mask=causal' --seed 0 --out run, and with other seeds and residual=post_norm"},
    Finding{
        Slot::Residual, "axial",
        "To write pictures, attention along rows and columns is as good as full attention if finished rows are read as "
        "a whole.",
        "Better at this size: held-out pictures cost 0.491 and 0.477 bits per dimension with two seeds, with full "
        "causal attention in as many layers 0.563 and 0.536.",
        "attention-cli train --task pixels --set size=8 --layers 4 --steps 300 --seed 1 --attention "
        "'position=learned_2d(rows = 8, columns = 8, leading = 1), residual=axial(8, 8, 2, 1), mask=row(8, 8, 1) & "
        "(causal | ~global(1)); residual=axial(8, 8, 2, 1), mask=causal & column(8, 8, 1); residual=axial(8, 8, 2, 1), "
        "mask=causal & blocks(8); residual=axial(8, 8, 2, 1), mask=causal & blocks(8)' --out run, and with --seed 2"},
};

} // namespace

std::span<const Finding> findings() { return kFindings; }

const Finding* findingOf(const Part& part) {
    const auto found = std::ranges::find_if(
        kFindings, [&](const Finding& finding) { return finding.slot == part.slot && finding.part == part.id; });
    return found == kFindings.end() ? nullptr : &*found;
}

} // namespace attn
