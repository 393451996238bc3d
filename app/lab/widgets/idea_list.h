#pragma once

class QComboBox;
class QString;

namespace attn {

/// Makes the list of `box` show, below each name, the sentence from addIdea().
void showIdeas(QComboBox& box);
/// Adds a sentence below the entry that was added last: the first sentence of `idea`.
void addIdea(QComboBox& box, const QString& idea, const QString& toolTip);

} // namespace attn
