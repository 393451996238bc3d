#include "app/lab/widgets/input_controls.h"

#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/picture_patches.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/part.h"
#include "engine/session/snapshot.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QFileInfo>
#include <QSignalBlocker>

#include <algorithm>
#include <array>
#include <span>

namespace attn {
namespace {

using Kind = InputChoice::Kind;

constexpr std::array kTokens{
    Param{"tokens", "Tokens", "Number of queries", Param::Kind::Integer, 2, InputControls::kMostTokens, 1, 32},
    Param{"keys", "Cross-attention keys",
          "Number of keys from another sequence (cross-attention). 0: self-attention, with one key per query",
          Param::Kind::Integer, 0, InputControls::kMostTokens, 1, 0},
    Param{"doublings", "Length doublings",
          "How many times the number of tokens is doubled. Above 256 tokens, only patterns that are products of "
          "features can be shown, one part at a time",
          Param::Kind::Integer, 0, InputControls::kMostDoublings, 1, 0}};
constexpr double kLast = (InputControls::kMostTokens << InputControls::kMostDoublings) - 1;
constexpr std::array kPart{
    Param{"from_query", "From query", "The first query to show", Param::Kind::Integer, 0, kLast, 1, 0},
    Param{"from_key", "From key", "The first key to show", Param::Kind::Integer, 0, kLast, 1, 0},
    Param{"across", "Tokens across",
          "Number of queries and keys to show. 0: all. Each pixel shows the largest of its cells", Param::Kind::Integer,
          0, kLast + 1, 1, 0}};
constexpr std::array kLayer{Param{"layer", "Layer", "The layer whose queries, keys and values to use, counted from 0",
                                  Param::Kind::Integer, 0, 95, 1, 0}};
constexpr std::array kGrid{
    Param{"rows", "Rows", "Patches from top to bottom", Param::Kind::Integer, 2, 16, 1, 8},
    Param{"columns", "Columns", "Patches from left to right", Param::Kind::Integer, 2, 16, 1, 8}};
constexpr std::array kNumbers{
    Param{"width", "Head width", "Number of features in each query, key and value", Param::Kind::Integer, 2, 64, 2, 16},
    Param{"seed", "Seed", "A different seed draws different random numbers", Param::Kind::Integer, 0, 999, 1, 1}};
constexpr std::array kKindKeys{"random", "sentence", "picture"};

double valueOf(const PlaygroundSetup& setup, std::string_view id) {
    if (id == "tokens") return static_cast<double>(setup.query.tokens);
    if (id == "keys") return static_cast<double>(setup.query.keys);
    if (id == "width") return static_cast<double>(setup.query.width);
    if (id == "seed") return static_cast<double>(setup.query.seed);
    if (id == "layer") return setup.input.layer;
    if (id == "doublings") return setup.input.doublings;
    if (id == "from_query") return setup.input.fromQuery;
    if (id == "from_key") return setup.input.fromKey;
    if (id == "across") return setup.input.across;
    return id == "rows" ? setup.input.rows : setup.input.columns;
}

void setValue(PlaygroundSetup& setup, const QString& id, double value) {
    if (id == "tokens") setup.query.tokens = static_cast<int64_t>(value);
    if (id == "keys") setup.query.keys = static_cast<int64_t>(value);
    if (id == "width") setup.query.width = static_cast<int64_t>(value);
    if (id == "seed") setup.query.seed = static_cast<uint64_t>(value);
    if (id == "layer") setup.input.layer = static_cast<int>(value);
    if (id == "doublings") setup.input.doublings = static_cast<int>(value);
    if (id == "from_query") setup.input.fromQuery = static_cast<int>(value);
    if (id == "from_key") setup.input.fromKey = static_cast<int>(value);
    if (id == "across") setup.input.across = static_cast<int>(value);
    if (id == "rows") setup.input.rows = static_cast<int>(value);
    if (id == "columns") setup.input.columns = static_cast<int>(value);
}

template <class F> void forParams(F&& f) {
    for (const auto& params : std::initializer_list<std::span<const Param>>{kTokens, kPart, kLayer, kGrid, kNumbers})
        for (const Param& param : params) f(param);
}

} // namespace

InputControls::InputControls(QWidget* parent) : QWidget(parent) {
    kind_ = named(new QComboBox, "playInput", tr("Input"), tr("Where the queries, keys and values come from"));
    kind_->addItems({tr("Random vectors"), tr("A sentence in the open model"), tr("A picture cut into patches")});
    setLeastCharacters(*kind_, 12);
    sentence_ = makeHintLabel("playSentence");
    picture_ = named(new QComboBox, "playPicture", tr("Picture"), tr("The picture that is cut into patches"));
    for (const BuiltInPicture& picture : builtInPictures())
        picture_->addItem(QCoreApplication::translate("attn::Picture", picture.title), QLatin1String(picture.id));
    picture_->addItem(tr("From a file…"));
    setLeastCharacters(*picture_, 12);
    tokens_ = new ParamControls(kTokens);
    part_ = new ParamControls(kPart);
    layer_ = new ParamControls(kLayer);
    grid_ = new ParamControls(kGrid);
    numbers_ = new ParamControls(kNumbers);
    makeColumn(this, 0,
               {makeRow({labelFor(kind_, tr("Input")), {kind_, 1}}), sentence_, picture_, layer_, grid_, tokens_, part_,
                numbers_});
    for (ParamControls* controls : {tokens_, part_, layer_, grid_, numbers_})
        connect(controls, &ParamControls::valueChanged, this, &InputControls::set);
    connect(kind_, &QComboBox::activated, this, [this](int index) {
        PlaygroundSetup next = setup_;
        next.input.kind = static_cast<Kind>(index);
        if (next != setup_) emit changed(next, "input");
    });
    connect(picture_, &QComboBox::activated, this, &InputControls::choosePicture);
}

void InputControls::set(const QString& id, double value) {
    PlaygroundSetup next = setup_;
    setValue(next, id, value);
    if (next != setup_) emit changed(next, id);
}

void InputControls::choosePicture(int index) {
    const auto choose = [this](const QString& name) {
        PlaygroundSetup next = setup_;
        next.input.picture = name;
        if (next != setup_) emit changed(next, "picture");
    };
    const QString name = picture_->itemData(index).toString();
    if (!name.isEmpty()) return choose(name);
    auto* dialog = makeFileDialog(this, tr("Choose a picture"), QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, choose);
    connect(dialog, &QFileDialog::finished, this, [this] { setSetup(PlaygroundSetup(setup_)); });
    dialog->open();
}

void InputControls::setSetup(const PlaygroundSetup& setup) {
    setup_ = setup;
    const Kind kind = setup.input.kind;
    kind_->setCurrentIndex(static_cast<int>(kind));
    for (const auto& [controls, params] : std::initializer_list<std::pair<ParamControls*, std::span<const Param>>>{
             {tokens_, kTokens}, {part_, kPart}, {layer_, kLayer}, {grid_, kGrid}, {numbers_, kNumbers}})
        for (const Param& param : params) controls->setValue(param.id, valueOf(setup, param.id));
    // The list contains a file only while it is in use.
    const int files = picture_->count() - static_cast<int>(builtInPictures().size()) - 1;
    for (int i = 0; i < files; ++i) picture_->removeItem(static_cast<int>(builtInPictures().size()));
    if (picture_->findData(setup.input.picture) < 0)
        picture_->insertItem(static_cast<int>(builtInPictures().size()), QFileInfo(setup.input.picture).fileName(),
                             setup.input.picture);
    picture_->setCurrentIndex(picture_->findData(setup.input.picture));
    tokens_->setVisible(kind == Kind::Random);
    part_->setVisible(completed(setup).query.tokens > kMostWholeTokens);
    numbers_->setVisible(kind != Kind::Sentence);
    layer_->setVisible(kind == Kind::Sentence);
    picture_->setVisible(kind == Kind::Picture);
    grid_->setVisible(kind == Kind::Picture);
    showSentence();
}

void InputControls::setSnapshot(const Snapshot& snapshot) {
    text_ = snapshot.sequence ? QString::fromStdString(snapshot.sequence->text) : QString();
    model_ = snapshot.model ? QString::fromStdString(snapshot.model->name) : QString();
    layers_ = snapshot.model ? snapshot.model->layers : 0;
    showSentence();
}

void InputControls::showSentence() {
    sentence_->setVisible(setup_.input.kind == Kind::Sentence);
    if (layers_ == 0)
        sentence_->setText(
            tr("Open a model first. One of its layers turns the sentence into queries, keys and values."));
    else if (text_.isEmpty())
        sentence_->setText(tr("Type a sentence in the Generate panel first."));
    else
        sentence_->setText(tr("“%1” in layer %2 of %4 (%3 layers). Change the sentence in the Generate panel.")
                               .arg(text_.left(120).simplified(),
                                    QString::number(std::min(setup_.input.layer, layers_ - 1)),
                                    QString::number(layers_), model_));
}

PlaygroundSetup InputControls::completed(PlaygroundSetup setup) {
    if (setup.input.kind != Kind::Random) return setup;
    const InputChoice& input = setup.input;
    setup.query.tokens <<= input.doublings;
    setup.query.keys <<= input.doublings;
    const int64_t most = std::max(setup.query.tokens, setup.query.keys);
    const int64_t across = input.across > 0 ? input.across : most;
    setup.query.window = {.queryBegin = input.fromQuery,
                          .queryEnd = input.fromQuery + across,
                          .keyBegin = input.fromKey,
                          .keyEnd = input.fromKey + across};
    return setup;
}

bool InputControls::isOwn(const AttentionSpec& spec, AttentionSpec own) {
    if (own.part(Slot::Score).score.dotScale)
        own.reset(Slot::Score); // its queries already contain the scale: see SiteInputs
    return spec.mask == own.mask &&
           std::ranges::all_of(kSpecSlots, [&](Slot slot) { return spec.parts.at(slot) == own.parts.at(slot); });
}

QJsonObject InputControls::saved(const PlaygroundSetup& setup) {
    QJsonObject view{{"kind", QLatin1String(kKindKeys.at(static_cast<size_t>(setup.input.kind)))},
                     {"picture", setup.input.picture}};
    forParams([&](const Param& param) { view[QLatin1String(param.id.data())] = valueOf(setup, param.id); });
    return view;
}

PlaygroundSetup InputControls::restored(const QJsonObject& view, PlaygroundSetup setup) {
    forParams([&](const Param& param) {
        const QLatin1String id(param.id.data());
        setValue(setup, id, std::clamp(view.value(id).toDouble(param.initial), param.minimum, param.maximum));
    });
    const auto kind = std::ranges::find(kKindKeys, view.value("kind").toString().toStdString());
    if (kind != kKindKeys.end()) setup.input.kind = static_cast<Kind>(kind - kKindKeys.begin());
    if (const QString picture = view.value("picture").toString(); !picture.isEmpty()) setup.input.picture = picture;
    return setup;
}

} // namespace attn
