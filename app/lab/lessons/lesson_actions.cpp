#include "app/lab/bridge/sampling_fields.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/common/playground_setup.h"
#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/lessons/lesson_stage.h"
#include "app/lab/widgets/spec_line.h"
#include "app/lab/workbench/workbench.h"
#include "engine/core/error.h"
#include "engine/models/hook_names.h"
#include "engine/training/tasks/catalogue.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <cmath>

namespace attn {

namespace lesson_argument {
namespace {
constexpr double kMost = 1e9; // fits every integer type that an argument may become
} // namespace

QString text(const QJsonValue& value) { return value.isString() ? QString() : QStringLiteral("it takes a string"); }

QString flag(const QJsonValue& value) {
    return value.isBool() && value.toBool() ? QString() : QStringLiteral("it takes true");
}

QString count(const QJsonValue& value) {
    return value.isDouble() && value.toDouble() >= 0 && value.toDouble() <= kMost
               ? QString()
               : QStringLiteral("it takes a number from 0 to %1").arg(kMost);
}

QString object(const QJsonValue& value) {
    return value.isObject() ? QString() : QStringLiteral("it takes an object of fields");
}

QString numbers(const QJsonValue& value, qsizetype count) {
    const QJsonArray list = value.toArray();
    const bool isRight = list.size() == count && std::all_of(list.begin(), list.end(), [](const auto& each) {
                             return each.isDouble() && std::abs(each.toDouble()) <= kMost;
                         });
    return isRight ? QString() : QStringLiteral("it takes a list of %1 numbers, up to %2").arg(count).arg(kMost);
}

namespace {

QString siteAndNumbers(const QJsonValue& value, qsizetype count) {
    QJsonArray list = value.toArray();
    if (!list.isEmpty() && list.first().isString()) {
        const auto layer = layerOfSite(list.first().toString().toStdString());
        list[0] = layer ? QJsonValue(*layer) : QJsonValue();
    }
    if (numbers(list, 1 + count).isEmpty()) return {};
    return QStringLiteral("it takes a list of a site, such as \"%1\", and %2 numbers")
        .arg(QString::fromStdString(siteName(1)), QString::number(count));
}

} // namespace

QString head(const QJsonValue& value) { return siteAndNumbers(value, 1); }

QString gate(const QJsonValue& value) { return siteAndNumbers(value, 2); }

int layerOf(const QJsonValue& value) {
    const QJsonValue site = value.toArray().first();
    return site.isString() ? layerOfSite(site.toString().toStdString()).value_or(0) : site.toInt();
}

QString parsed(const QJsonValue& value, void (*parse)(const std::string& text)) {
    if (!value.isString()) return text(value);
    try {
        parse(value.toString().toStdString());
    } catch (const Error& error) {
        return sentenceOf(error);
    }
    return {};
}

QString spec(const QJsonValue& value) {
    return parsed(value, [](const std::string& text) { AttentionSpec::parse(text); });
}

QString oneOf(const QJsonValue& value, const QStringList& names) {
    if (names.contains(value.toString())) return {};
    return QStringLiteral("it takes one of %1").arg(names.join(QStringLiteral(", ")));
}

QString ids(const QJsonValue& value, std::initializer_list<const char*> known) {
    QStringList names;
    for (const char* name : known) names << QString::fromLatin1(name);
    return oneOf(value, names);
}

} // namespace lesson_argument

QString playgroundTabProblem(const QJsonValue& value) {
    QStringList names;
    for (const char* name : kPlaygroundTabs) names << QLatin1String(name);
    return lesson_argument::oneOf(value, names);
}

namespace {

namespace argument = lesson_argument;

QString fieldsOf(const QJsonValue& value, std::initializer_list<const char*> known) {
    if (!value.isObject()) return argument::object(value);
    for (const QString& key : value.toObject().keys())
        if (std::none_of(known.begin(), known.end(), [&](const char* name) { return key == QLatin1String(name); }))
            return QStringLiteral("there is no field \"%1\"").arg(key);
    return {};
}

QString openProblem(const QJsonValue& value) {
    if (value.isString()) return {};
    const QString problem = fieldsOf(value, {"model", "prompt"});
    return problem.isEmpty() ? argument::text(value.toObject().value("model")) : problem;
}

void openGates(LessonStage& stage, const QJsonValue&) {
    Changes changes = stage.workbench().changes();
    changes.gates.clear();
    if (changes != stage.workbench().changes()) stage.workbench().setChanges(std::move(changes));
}

void setPrompt(LessonStage& stage, const QJsonValue& value) {
    stage.workbench().post(SetPromptCommand{{.text = value.toString().toStdString()}});
}

/// Opens a model. If it is already open, opens all its gates and resets the prompt instead of reading it again.
void open(LessonStage& stage, const QJsonValue& value) {
    const QString path = value.isString() ? value.toString() : value.toObject().value("model").toString();
    const QString prompt = value.toObject().value("prompt").toString();
    Workbench& bench = stage.workbench();
    if (!bench.hasModel() || QString::fromStdString(bench.snapshot()->path()) != path)
        return stage.openModel(path, prompt);
    bench.post(StopCommand{});
    openGates(stage, true);
    if (!prompt.isEmpty()) setPrompt(stage, prompt);
}

void selectHead(LessonStage& stage, const QJsonValue& value) {
    stage.workbench().selectHead(argument::layerOf(value), value.toArray()[1].toInt());
}

void setGate(LessonStage& stage, const QJsonValue& value) {
    const QJsonArray list = value.toArray();
    Changes changes = stage.workbench().changes();
    changes.setGate(argument::layerOf(value), list[1].toInt(), static_cast<float>(list[2].toDouble()));
    stage.workbench().setChanges(std::move(changes));
}

QJsonObject merged(QJsonObject view, const QJsonObject& changes) {
    for (auto each = changes.begin(); each != changes.end(); ++each) view[each.key()] = each.value();
    return view;
}

QString attentionProblem(const QJsonValue& value) {
    return fieldsOf(value, {"level", "drawnAs", "site", "head", "aggregate", "scale", "hidesFirst", "colours", "cell"});
}

/// Sets some fields of a panel's view.
void setFields(LessonStage& stage, const QString& panel, const QJsonObject& fields) {
    stage.setView(panel, merged(stage.view(panel), fields));
}

/// Sets the attention panel. Lessons speak of heatmaps, so that is the default drawing.
void setAttention(LessonStage& stage, const QJsonValue& value) {
    setFields(stage, "attention", merged({{"drawnAs", "heatmap"}}, value.toObject()));
}

QString playgroundProblem(const QJsonValue& value) {
    const QString problem = fieldsOf(value, {"spec", "other", "head", "kind", "tokens", "keys", "width", "seed",
                                             "layer", "picture", "compared", "reach"});
    if (!problem.isEmpty()) return problem;
    for (const char* key : {"spec", "other"})
        if (const QString text = value.toObject().value(QLatin1String(key)).toString(); !text.isEmpty())
            if (const QString why = argument::spec(text); !why.isEmpty()) return why;
    return {};
}

/// Sets the playground. Absent fields get the playground's initial values, and there is no comparison.
void setPlayground(LessonStage& stage, const QJsonValue& value) {
    const QJsonObject plain{{"other", ""},   {"head", 0},   {"kind", "random"}, {"tokens", 16},
                            {"keys", 0},     {"width", 16}, {"seed", 1},        {"from_query", 0},
                            {"from_key", 0}, {"across", 0}, {"doublings", 0}};
    setFields(stage, "playground", merged(plain, value.toObject()));
}

void setTab(LessonStage& stage, const QJsonValue& value) { setFields(stage, "playground", {{"tab", value}}); }

QString samplingFieldsProblem(const QJsonValue& value) {
    const QString problem =
        fieldsOf(value, {"greedy", "temperature", "topK", "topP", "minP", "repetitionPenalty", "seed"});
    if (!problem.isEmpty()) return problem;
    for (const QJsonValue& each : value.toObject())
        if (!each.isBool() && !argument::count(each).isEmpty())
            return QStringLiteral("a field is neither true, false nor a number from 0 to 1e9");
    return {};
}

/// Sets the sampling. Absent fields are switched off.
void setSampling(LessonStage& stage, const QJsonValue& value) {
    Sampling sampling{.greedy = false};
    const QJsonObject fields = value.toObject();
    for (auto each = fields.begin(); each != fields.end(); ++each)
        setSamplingValue(sampling, each.key().toStdString(),
                         each.value().isBool() ? each.value().toBool() : each.value().toDouble());
    stage.workbench().setSampling(sampling);
}

/// The recipe suggested for the task, with these fields replaced. @throws Error
Recipe recipeOf(const QJsonValue& value) {
    Recipe recipe = suggestedRecipeWith(QJsonDocument(value.toObject()).toJson().toStdString());
    check(recipe);
    return recipe;
}

QString recipeProblem(const QJsonValue& value) {
    if (!value.isObject()) return argument::object(value);
    try {
        recipeOf(value);
    } catch (const Error& error) {
        return sentenceOf(error);
    }
    return {};
}

void setRecipe(LessonStage& stage, const QJsonValue& value) { stage.workbench().requestRecipe(recipeOf(value)); }

void stop(LessonStage& stage, const QJsonValue&) {
    stage.workbench().post(StopCommand{});
    stage.workbench().training().session().pause();
}

constexpr LessonAction kActions[] = {
    {"open", openProblem, open},
    {"prompt", argument::text, setPrompt},
    {"head", argument::head, selectHead},
    {"gate", argument::gate, setGate},
    {"gatesOn", argument::flag, openGates},
    {"attention", attentionProblem, setAttention},
    {"playground", playgroundProblem, setPlayground},
    {"playgroundTab", playgroundTabProblem, setTab},
    {"sampling", samplingFieldsProblem, setSampling},
    {"recipe", recipeProblem, setRecipe},
    {"stop", argument::flag, stop},
};

} // namespace

std::span<const LessonAction> lessonActions() { return kActions; }

void run(LessonStage& stage, const LessonCall& action) {
    const auto found = std::ranges::find(kActions, action.name,
                                         [](const LessonAction& each) { return QString::fromLatin1(each.name); });
    if (found != std::end(kActions)) found->run(stage, action.argument);
}

QString modelOf(const LessonCall& action) {
    if (action.name != QLatin1String("open")) return {};
    return action.argument.isString() ? action.argument.toString()
                                      : action.argument.toObject().value("model").toString();
}

} // namespace attn
