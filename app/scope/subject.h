#pragma once

#include "engine/gpu/context.h"

#include <string>
#include <vector>

namespace attn::scope {

class ModelSubject;

/// What the window is about, and the layer and head of it that views look at.
class Subject {
public:
    virtual ~Subject() = default;

    virtual gpu::Context& context() = 0;
    const std::string& name() const { return name_; }
    virtual int layers() const = 0;
    virtual int heads() const = 0;
    int layer() const { return layer_; }
    int head() const { return head_; }
    /// The nearest that exists.
    void select(int layer, int head);
    virtual int tokenCount() const = 0;
    /// Tokens as they are written beside a pattern.
    const std::vector<std::string>& labels() const { return labels_; }
    virtual std::string facts() const = 0; ///< for the line below: how many tokens, what comes next
    const std::string& notice() const {
        return notice_;
    } ///< a sentence about the last thing done; empty if it needs none
    void setNotice(std::string notice) { notice_ = std::move(notice); }

    virtual ModelSubject* model() { return nullptr; } ///< null where there are only queries and keys

protected:
    std::string name_, notice_;
    std::vector<std::string> labels_;
    int layer_ = 0, head_ = 0;
};

/// "only 0 exists", "choose 0 to 7": the remedy where an index is wrong.
std::string rangeOf(int count);

} // namespace attn::scope
