#pragma once

class QComboBox;
class QString;

namespace attn {

/// Lets the list of `box` show below each name the sentence that addIdea() gave it.
void showIdeas(QComboBox& box);
/// Says below the name of the entry that was added last what it does: the first sentence of `idea`.
void addIdea(QComboBox& box, const QString& idea, const QString& toolTip);

} // namespace attn
