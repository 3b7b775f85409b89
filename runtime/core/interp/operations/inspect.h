#pragma once
// The inside of a block or array: its norm, its largest element and where that is, and single elements under their
// global indices. Plain functions over views; they own nothing.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial {

/// Names and places of a view's elements: per dimension the index's name and the global number of the view's first
/// element (from 1 over all segments of the index's kind; of a simple index, its value).
struct ElementLabels {
  std::string array;
  std::array<std::string, max_rank> index;
  std::array<std::int64_t, max_rank> first{};
};

struct Element {
  std::array<std::int64_t, max_rank> at{};  // in the view, from 0
  double value = 0;
};

/// `t2[a=12,i=3]`
std::string element_name(const ElementLabels& labels, int rank, const Element& element);

/// The Frobenius norm. Squares that overflow or vanish do no harm to it.
double frobenius_norm(const ConstView& view);

/// The element of the largest absolute value, the first of several; a NaN counts as larger than any number. The view is
/// not empty.
Element largest_element(const ConstView& view);

/// Elements of an absolute value of at least `threshold` in the order in which they are stored, or, when there are more
/// than `limit`, the `limit` largest, largest first. A NaN counts as larger than any number. `found`: how many reach
/// the threshold.
std::vector<Element> select_elements(const ConstView& view, double threshold, std::int64_t limit, std::int64_t& found);

}  // namespace sial
