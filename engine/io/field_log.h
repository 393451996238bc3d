#pragma once

#include <set>
#include <string>

namespace attn {

/// Which fields of a configuration were read, by their path: "rope_parameters.rope_theta". What nobody read is said to
/// the user.
class FieldLog {
public:
    void note(std::string path) { read_.insert(std::move(path)); }
    bool contains(const std::string& path) const { return read_.contains(path); }

private:
    std::set<std::string> read_;
};

} // namespace attn
