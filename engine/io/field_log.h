#pragma once

#include <set>
#include <string>

namespace attn {

/// The fields of a configuration that were read, by path: "rope_parameters.rope_theta". The user is told of the others.
class FieldLog {
public:
    void note(std::string path) { read_.insert(std::move(path)); }
    bool contains(const std::string& path) const { return read_.contains(path); }
    /// Notes a field that does not count because another one says something else.
    void noteReplaced(std::string path) { replaced_.insert(std::move(path)); }
    bool isReplaced(const std::string& path) const { return replaced_.contains(path); }

private:
    std::set<std::string> read_, replaced_;
};

} // namespace attn
