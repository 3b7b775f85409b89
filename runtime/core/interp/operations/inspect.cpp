#include "runtime/core/interp/operations/inspect.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "runtime/core/interp/context/view_ops.h"

namespace sial {
namespace {

/// Calls body(element) for every element, the first dimension fastest.
template <class Body>
void for_elements(const ConstView& view, Body body) {
  Element element;
  std::int64_t offset = 0;
  for (std::int64_t left = view_size(view); left > 0; --left) {
    element.value = view.data[offset];
    body(element);
    for (int d = 0; d < view.rank; ++d) {
      offset += view.stride[d];
      if (++element.at[d] < view.extent[d]) break;
      offset -= view.stride[d] * view.extent[d];
      element.at[d] = 0;
    }
  }
}

double magnitude(double value) { return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value); }

bool larger(const Element& a, const Element& b) {
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && !std::isnan(b.value);
  return magnitude(a.value) > magnitude(b.value);
}

}  // namespace

std::string element_name(const ElementLabels& labels, int rank, const Element& element) {
  std::string text = labels.array + "[";
  for (int d = 0; d < rank; ++d)
    text += fmt::format("{}{}={}", d ? "," : "", labels.index[d], labels.first[d] + element.at[d]);
  return text + "]";
}

double frobenius_norm(const ConstView& view) {
  double sum = 0, largest = 0;
  for_elements(view, [&](const Element& e) {
    sum += e.value * e.value;
    largest = std::max(largest, magnitude(e.value));
  });
  constexpr double tiny = 1e-280;
  if (largest == 0 || !std::isfinite(largest) || (std::isfinite(sum) && sum > tiny)) return std::sqrt(sum);
  sum = 0;
  for_elements(view, [&](const Element& e) { sum += (e.value / largest) * (e.value / largest); });
  return largest * std::sqrt(sum);
}

Element largest_element(const ConstView& view) {
  Element best;
  best.value = view.data[0];
  for_elements(view, [&](const Element& e) {
    if (larger(e, best)) best = e;
  });
  return best;
}

std::vector<Element> select_elements(const ConstView& view, double threshold, std::int64_t limit, std::int64_t& found) {
  found = 0;
  for_elements(view, [&](const Element& e) { found += magnitude(e.value) >= threshold; });
  std::vector<Element> selected;
  if (found <= limit) {
    selected.reserve(static_cast<std::size_t>(found));
    for_elements(view, [&](const Element& e) {
      if (magnitude(e.value) >= threshold) selected.push_back(e);
    });
    return selected;
  }
  // A heap of the largest so far, the smallest of them on top; of equal ones the first in the order of storage stay.
  std::int64_t position = 0;
  struct Selected {
    Element element;
    std::int64_t position;
  };
  std::vector<Selected> kept;
  const auto before = [](const Selected& a, const Selected& b) {
    if (larger(a.element, b.element)) return true;
    return !larger(b.element, a.element) && a.position < b.position;
  };
  for_elements(view, [&](const Element& e) {
    const Selected candidate{e, position++};
    if (limit == 0 || !(magnitude(e.value) >= threshold)) return;
    if (static_cast<std::int64_t>(kept.size()) == limit) {
      if (!before(candidate, kept.front())) return;
      std::pop_heap(kept.begin(), kept.end(), before);
      kept.pop_back();
    }
    kept.push_back(candidate);
    std::push_heap(kept.begin(), kept.end(), before);
  });
  std::sort_heap(kept.begin(), kept.end(), before);
  for (const Selected& k : kept) selected.push_back(k.element);
  return selected;
}

}  // namespace sial
