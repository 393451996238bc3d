#pragma once

#include "engine/gpu/context.h"
#include "engine/runtime/device.h"

#include <string>
#include <vector>

namespace attn::scope {

class ModelSubject;

/// The model, or the random queries and keys, that the window shows, with the selected layer and head.
class Subject {
public:
    virtual ~Subject() = default;

    virtual Device& device() = 0;
    gpu::Context& context() { return device().context(); }
    const std::string& name() const { return name_; }
    virtual int layers() const = 0;
    virtual int heads() const = 0;
    int layer() const { return layer_; }
    int head() const { return head_; }
    /// Selects the nearest layer and head that exist.
    void select(int layer, int head);
    virtual int tokenCount() const = 0;
    /// Token labels, as shown beside a pattern.
    const std::vector<std::string>& labels() const { return labels_; }
    virtual std::string facts() const = 0; ///< for the status line: the number of tokens and the next token
    /// A sentence about the last action; empty if there is nothing to say.
    const std::string& notice() const { return notice_; }
    void setNotice(std::string notice) { notice_ = std::move(notice); }

    virtual ModelSubject* model() { return nullptr; } ///< null if there are only queries and keys

protected:
    std::string name_, notice_;
    std::vector<std::string> labels_;
    int layer_ = 0, head_ = 0;
};

/// The hint for a wrong index: "only 0 exists" or "choose 0 to 7".
std::string rangeOf(int count);

} // namespace attn::scope
