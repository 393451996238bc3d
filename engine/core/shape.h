#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace attn {

/// The extents of a row-major tensor. On the device, every row (the last axis) is padded to a multiple of 4 floats, and
/// the padding is always zero.
class Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> extents) : extents_(extents) {}
    explicit Shape(std::vector<int64_t> extents) : extents_(std::move(extents)) {}

    int rank() const { return static_cast<int>(extents_.size()); }
    /// The extent of an axis; negative axes count from the last.
    int64_t operator[](int axis) const { return extents_[static_cast<size_t>(axis < 0 ? axis + rank() : axis)]; }
    const std::vector<int64_t>& extents() const { return extents_; }

    // These products throw Error if an extent is negative or the product needs more than 62 bits.
    int64_t elements() const;                                         ///< without padding; 1 for a scalar
    int64_t columns() const { return rank() == 0 ? 1 : (*this)[-1]; } ///< extent of the last axis
    int64_t rows() const;                                             ///< product of all other axes
    int64_t rowStride() const { return (columns() + 3) / 4 * 4; }     ///< floats from one row to the next on the device
    int64_t paddedElements() const;                                   ///< floats on the device

    /// Checks the shape of a tensor that is computed or stored on a device: every extent is at least 1, and the padded
    /// elements can be counted in bytes. @param name of the tensor, for the message  @throws Error naming the shape
    void requireUsable(const std::string& name) const;

    std::string text() const; ///< "[5, 8, 64]"

    bool operator==(const Shape&) const = default;

private:
    std::vector<int64_t> extents_;
};

} // namespace attn
