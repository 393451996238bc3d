#pragma once

#include "engine/attention/mask/expression.h"
#include "engine/core/param.h"

#include <QWidget>

#include <string>
#include <vector>

namespace attn {

class ParamControls;

/// Sliders for the numbers in a mask's expression, term by term. For example, dragging sets a window.
class MaskTermControls : public QWidget {
    Q_OBJECT

public:
    explicit MaskTermControls(QWidget* parent = nullptr);

    /// @param longest the upper end of sliders for numbers that only the length of the sequence limits
    void setMask(const MaskExpression& mask, double longest);

signals:
    /// @param text the expression with the new number; it may be invalid
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
