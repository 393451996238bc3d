#include "app/figures/read_image.h"
#include "app/figures/token_label.h"
#include "app/lab/panels/playground_panel.h"
#include "app/lab/widgets/input_controls.h"
#include "app/lab/widgets/patch_view.h"
#include "app/lab/widgets/picture_patches.h"
#include "app/lab/widgets/spec_editor.h"

#include <QLabel>
#include <QSpinBox>

#include <algorithm>
#include <utility>
#include <variant>

// The inputs of the playground: random numbers, a sequence in the open model, or a picture.

namespace attn {

void PlaygroundPanel::editInput(const PlaygroundSetup& setup, const QString& what) {
    PlaygroundSetup next = setup;
    // Begin with the heads and the positions of the model's layer; the mask and the other parts stay.
    if (next.input.kind == InputChoice::Kind::Sentence && setup_.input.kind != next.input.kind && model_->model) {
        SiteInputs layer;
        const Site& site = model_->model->structure.sites.front();
        layer.heads = site.heads;
        layer.keyValueHeads = site.keyValueHeads;
        const AttentionSpec heads = AttentionSpec::parse("heads=" + layer.headsText());
        const auto adopt = [&](AttentionSpec& spec) {
            spec.parts.at(Slot::Heads) = heads.parts.at(Slot::Heads);
            spec.parts.at(Slot::Position) = model_->model->attentions.front().parts.at(Slot::Position);
        };
        adopt(next.query.spec);
        if (next.query.other) adopt(*next.query.other);
    }
    edit(next, what);
}

void PlaygroundPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isSame = snapshot->sequence == model_->sequence && snapshot->model == model_->model &&
                        snapshot->siteInputs == model_->siteInputs;
    model_ = snapshot;
    if (isSame && snapshot->status.activity != Activity::Idle) return;
    inputs_->setSnapshot(*snapshot);
    if (setup_.input.kind != InputChoice::Kind::Sentence) return;
    showUntrained();
    if (!isSame) showEdited();
    if (!isSame || captured_.first != snapshot->sequenceVersion) ask();
}

std::optional<PlaygroundQuery> PlaygroundPanel::complete() {
    PlaygroundQuery query = InputControls::completed(setup_).query;
    const InputChoice& input = setup_.input;
    if (input.kind == InputChoice::Kind::Picture) {
        if (!features_ || featuresOf_ != input) {
            if (std::exchange(pictureName_, input.picture) != input.picture) {
                picture_ = builtInPicture(input.picture).value_or(QImage());
                pictureTask_.cancel();
                if (picture_.isNull()) readPicture();
            }
            if (picture_.isNull()) return {};
            features_ = patchFeatures(picture_, input.rows, input.columns);
            featuresOf_ = input;
            patches_->setPicture(picture_, input.rows, input.columns);
        }
        query.features = features_;
        query.tokens = features_->tokens;
    }
    if (input.kind == InputChoice::Kind::Sentence) {
        if (!model_->model || !model_->sequence || model_->sequence->tokens.empty()) return {};
        const auto& given = model_->siteInputs;
        if (!given || given->site != layer() || given->sequenceVersion != model_->sequenceVersion) {
            const std::pair wanted(model_->sequenceVersion, layer());
            if (model_->status.activity == Activity::Idle && std::exchange(captured_, wanted) != wanted)
                bench_.post(CaptureInputsCommand{.site = layer()});
            return {};
        }
        query.layer = given;
        query.tokens = tokens();
        query.width = headWidth();
    }
    return query;
}

/// Says that the model was not trained with an attention that it does not have.
void PlaygroundPanel::showUntrained() {
    const bool isSentence = setup_.input.kind == InputChoice::Kind::Sentence && model_->model;
    const auto differs = [&](const AttentionSpec& spec) {
        return !InputControls::isOwn(spec, model_->model->attentions[static_cast<size_t>(layer())]);
    };
    const PlaygroundQuery& query = setup_.query;
    untrained_->setVisible(isSentence && (differs(query.spec) || (query.other && differs(*query.other))));
}

/// Reads the picture's file on another thread, then asks again.
void PlaygroundPanel::readPicture() {
    constexpr int kMostSide = 1024; // more than its patches show
    pictureTask_.start<QImage>(
        pictureName_.toStdString(),
        [name = pictureName_](const std::atomic<bool>&) -> std::variant<QImage, Failure> {
            auto read = readImage(name);
            if (const auto* failure = std::get_if<Failure>(&read)) return *failure;
            const QImage picture = toQImage(std::get<Image>(read));
            if (std::max(picture.width(), picture.height()) <= kMostSide) return picture;
            return picture.scaled(kMostSide, kMostSide, Qt::KeepAspectRatio, Qt::SmoothTransformation);
        },
        [this](std::variant<QImage, Failure> read) {
            if (const auto* failure = std::get_if<Failure>(&read)) {
                pictureName_.clear(); // the next query tries again
                return editor_->setFailure(shownText(failure->sentence()));
            }
            picture_ = std::get<QImage>(std::move(read));
            ask();
        });
}

int PlaygroundPanel::layer() const { return std::min(setup_.input.layer, model_->model->layers - 1); }

int64_t PlaygroundPanel::tokens() const {
    const InputChoice& input = setup_.input;
    if (input.kind == InputChoice::Kind::Picture) return int64_t{input.rows} * input.columns;
    if (input.kind == InputChoice::Kind::Sentence && model_->sequence && !model_->sequence->tokens.empty())
        return std::min<int64_t>(InputControls::kMostTokens, std::ssize(model_->sequence->tokens));
    return setup_.query.tokens;
}

int64_t PlaygroundPanel::headWidth() const {
    const bool isSentence = setup_.input.kind == InputChoice::Kind::Sentence;
    return isSentence && model_->model ? model_->model->structure.sites.front().headWidth : setup_.query.width;
}

/// Shows how much one patch attends to each other patch, in the pattern of the selected head.
void PlaygroundPanel::showPatches(std::optional<int> row) {
    if (setup_.input.kind != InputChoice::Kind::Picture) return;
    const PlaygroundMap* pattern = findMap(shown_->maps, "pattern");
    if (!row || !pattern || *row >= pattern->rows) return patches_->setWeights({}, {});
    const auto cells =
        pattern->at(head_->value())
            .subspan(static_cast<size_t>(*row * pattern->columns), static_cast<size_t>(pattern->columns));
    patches_->setWeights(row, {cells.begin(), cells.end()});
}

} // namespace attn
