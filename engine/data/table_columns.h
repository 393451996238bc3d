#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// "the columns "a", "b"", a few of many.
std::string columnsText(const std::set<std::string>& names);

/// Which columns of a table are read, and as what, and which are not.
class TableColumns {
public:
    /// @param role what the column is: "texts"  @param name of the column
    void read(std::string_view role, const std::string& name);
    /// Ends a record with these columns: those that read() did not name are left out.
    void endRecord(const std::vector<std::string>& columns);
    /// Which columns nothing reads, and which are read, in a sentence. Empty: all are read.
    std::string remark(const std::string& file) const;

private:
    using Role = std::pair<std::string_view, std::set<std::string>>; ///< what columns are, and their names

    std::vector<Role> roles_;
    std::set<std::string> isRead_, leftOut_; ///< the first: in this record
};

} // namespace attn
