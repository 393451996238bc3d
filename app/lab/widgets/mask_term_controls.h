#pragma once

#include "engine/attention/mask/expression.h"

#include <QWidget>

#include <string>
#include <vector>

namespace attn {

class ParamControls;

/// Sliders for the numbers in a mask's expression, term by term, so that a window can be dragged.
class MaskTermControls : public QWidget {
    Q_OBJECT

public:
    explicit MaskTermControls(QWidget* parent = nullptr);

    /// @param longest the end of the sliders of what may be as long as the sequence
    void setMask(const MaskExpression& mask, double longest);

signals:
    /// The expression with another number in it; it may have no meaning.
    void textChanged(const QString& text);

private:
    struct Term {
        const Part* part;
        size_t begin, end; ///< of the arguments in the text
        std::vector<double> values;
        std::vector<Param> params;
        ParamControls* controls = nullptr;
    };
    static std::vector<Term> termsOf(const std::string& text, double longest);

    std::string text_;
    std::vector<Term> terms_;
};

} // namespace attn
