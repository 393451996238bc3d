#include "app/lab/dialogs/finder.h"

namespace attn {

std::vector<Finder::Entry> Finder::words() {
    std::vector<Entry> entries;
    const auto add = [&](const QString& word, const QString& meaning) {
        entries.push_back({.title = word, .kind = tr("Word"), .keys = {}, .open = {}, .help = meaning});
    };
    add(tr("Attention"), tr("In attention, each token looks at other tokens and takes information from them."));
    add(tr("Attention weight"),
        tr("How much one token looks at another: a number from 0 to 1. The weights of one row add up to 1."));
    add(tr("Cell"), tr("One attention weight of one head: one query and one key."));
    add(tr("Change"),
        tr("Anything that you do to a model's run, such as removing a head. The model's files stay as they are."));
    add(tr("Context"), tr("The most tokens that a model can read at once."));
    add(tr("Divergence"), tr("How much two patterns differ: 0 is equal, 1 has nothing in common."));
    add(tr("Embedding"), tr("The list of numbers with which a model stands for a token."));
    add(tr("Entropy"),
        tr("How undecided the model is: 0 when it is sure of one token, larger when many are possible."));
    add(tr("Gate"), tr("A factor from 0 to 1 that turns a head or a layer down. At 0 it is off."));
    add(tr("Head"), tr("One of the parts of a layer that look at tokens. Each head has a pattern of its own. L2 H3 is "
                       "head 3 of layer 2."));
    add(tr("Heatmap"), tr("The drawing of a pattern: one coloured cell for each query and key."));
    add(tr("Key"), tr("The token that is looked at: a column of a pattern."));
    add(tr("Layer"),
        tr("One step of a model: attention, and then a small network for each token. Layers are counted from 0."));
    add(tr("Lens"), tr("A way to read what a model holds halfway, such as what it would predict after each layer."));
    add(tr("Logit"),
        tr("The number that a model gives to a possible next token before the softmax turns it into a probability."));
    add(tr("Loss"), tr("How surprised the model is by the right token: 0 is a perfect prediction."));
    add(tr("Mask"), tr("The rule that says which tokens a token may look at, for example only those before it."));
    add(tr("Model"), tr("A transformer with the numbers that training has set. It reads a text or a picture."));
    add(tr("Nat"),
        tr("The unit of loss and entropy. A loss of 0.7 nats is one choice between two equally likely tokens."));
    add(tr("Parameter"), tr("One of the numbers that training sets."));
    add(tr("Patch"), tr("A square of a picture that becomes one token."));
    add(tr("Pattern"), tr("All attention weights of one head: a row for each query and a column for each key."));
    add(tr("Perplexity"),
        tr("How many equally likely tokens the model is effectively choosing between, on average: 1 is a perfect "
           "prediction."));
    add(tr("Picture"), tr("An image that a vision model reads. It is cut into patches."));
    add(tr("Precision"),
        tr("How many bits the numbers of a step of training have: 32, or 16, which take less memory and are "
           "rounded. Choose it in the Train panel, under Training."));
    add(tr("Prompt"), tr("The text that you type and the model continues."));
    add(tr("Query"), tr("The token that looks: a row of a pattern."));
    add(tr("Rank"), tr("The place of a token when all are sorted by probability: rank 1 is the most probable."));
    add(tr("Score"), tr("How well a query fits a key, before the softmax turns it into an attention weight."));
    add(tr("Softmax"), tr("The step that turns any numbers into shares from 0 to 1 that add up to 1."));
    add(tr("Storage"),
        tr("How a model keeps its weights: with 32, 16, 8 or about 4 bits each. Fewer bits take less memory, "
           "and round the weights."));
    add(tr("Temperature"), tr("How daring the choice of the next token is: near 0 always the most probable, above 1 "
                              "more surprising ones."));
    add(tr("Token"), tr("A piece of text that the model reads as one unit: a word, a part of a word or a character."));
    add(tr("Training"), tr("Changing a model's parameters, step by step, until it predicts its examples well."));
    add(tr("Value"), tr("What a token hands over to the tokens that look at it."));
    add(tr("Vocabulary"), tr("All tokens that a model knows."));
    return entries;
}

} // namespace attn
