#include "app/lab/widgets/mask_term_controls.h"

#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/attention/part.h"

#include <QLabel>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attn {

MaskTermControls::MaskTermControls(QWidget* parent) : QWidget(parent) {
    auto* column = layoutOf<QVBoxLayout>(this);
    column->setSpacing(spacing::kTight);
}

/// @return the terms that have numbers as arguments, in the order of the expression. Terms with lists, such as a
/// painted mask, are left out.
std::vector<MaskTermControls::Term> MaskTermControls::termsOf(const std::string& text, double longest) {
    std::vector<Term> terms;
    for (size_t open = text.find('('); open != std::string::npos; open = text.find('(', open + 1)) {
        const size_t close = text.find_first_of("()", open + 1);
        size_t name = open;
        while (name > 0 && (std::isalnum(static_cast<unsigned char>(text[name - 1])) || text[name - 1] == '_')) --name;
        const auto part = std::ranges::find(maskParts(), std::string_view(text).substr(name, open - name), &Part::id);
        if (close == std::string::npos || part == maskParts().end() || (*part)->takesList) continue;
        Term term{.part = *part, .begin = open + 1, .end = close, .values = {}, .params = {}};
        for (const char* at = text.data() + open + 1; at < text.data() + close;) {
            double value = 0;
            at = std::from_chars(at, text.data() + close, value).ptr;
            term.values.push_back(value);
            at = std::find(at, text.data() + close, ',');
            while (at < text.data() + close && (*at == ',' || *at == ' ')) ++at;
        }
        if (term.values.size() != (*part)->params.size()) continue;
        for (size_t i = 0; i < term.values.size(); ++i) {
            Param param = (*part)->params[i];
            // If a slider reached the longest supported sequence, it would move in steps of thousands.
            if (param.maximum > longest && param.id != "seed")
                param.maximum = std::max({longest, term.values[i], param.minimum});
            term.params.push_back(param);
        }
        terms.push_back(std::move(term));
    }
    return terms;
}

void MaskTermControls::setMask(const MaskExpression& mask, double longest) {
    text_ = mask.text();
    std::vector<Term> terms = termsOf(text_, longest);
    const auto isSame = [](const Term& a, const Term& b) {
        return a.part == b.part &&
               std::ranges::equal(a.params, b.params, {}, ParamControls::hasSlider, ParamControls::hasSlider);
    };
    if (std::ranges::equal(terms, terms_, isSame)) {
        for (size_t t = 0; t < terms.size(); ++t) {
            terms[t].controls = terms_[t].controls;
            for (size_t i = 0; i < terms[t].values.size(); ++i) {
                const Param& param = terms[t].params[i];
                terms[t].controls->setMaximum(param.id, param.maximum);
                terms[t].controls->setValue(param.id, terms[t].values[i]);
            }
        }
        terms_ = std::move(terms);
        return;
    }
    // One of them may be handling a drag, so they are deleted later.
    for (QObject* child : children())
        if (auto* widget = qobject_cast<QWidget*>(child)) {
            widget->hide();
            layout()->removeWidget(widget);
            widget->deleteLater();
        }
    terms_ = std::move(terms);
    for (size_t t = 0; t < terms_.size(); ++t) {
        Term& term = terms_[t];
        auto* title = plainLabel(QString::fromStdString(std::string(term.part->title)), this);
        title->setToolTip(QString::fromStdString(std::string(term.part->idea)));
        layout()->addWidget(title);
        term.controls = new ParamControls(term.params, this);
        for (size_t i = 0; i < term.values.size(); ++i) term.controls->setValue(term.params[i].id, term.values[i]);
        layout()->addWidget(term.controls);
        connect(term.controls, &ParamControls::valueChanged, this, [this, t](const QString& id, double value) {
            const Term& changed = terms_[t];
            std::vector<double> values = changed.values;
            for (size_t i = 0; i < values.size(); ++i)
                if (changed.params[i].id == id.toStdString()) values[i] = value;
            const std::string written = termText(*changed.part, values);
            const size_t open = written.find('(') + 1;
            std::string text = text_;
            text.replace(changed.begin, changed.end - changed.begin, written.substr(open, written.size() - open - 1));
            emit textChanged(QString::fromStdString(text));
        });
    }
}

} // namespace attn
