#include "runtime/core/kernels/interface/plain.h"

#include <algorithm>

#include "runtime/core/base/check.h"

namespace sial::kernels {
namespace {

template <class T>
int find_label(const BlockView<T>& v, std::int32_t label) {
  for (int i = 0; i < v.rank; ++i)
    if (v.label[i] == label) return i;
  return -1;
}

template <class T>
void check_view(const BlockView<T>& v, const char* name) {
  SIAL_CHECK(v.rank >= 0 && v.rank <= max_rank, "operand {} has rank {}", name, v.rank);
  std::int64_t size = 1;
  for (int i = 0; i < v.rank; ++i) {
    SIAL_CHECK(v.extent[i] >= 0, "operand {}, dimension {}: extent {}", name, i, v.extent[i]);
    SIAL_CHECK(find_label(v, v.label[i]) == i, "operand {} carries label {} twice", name, v.label[i]);
    size *= v.extent[i];
  }
  if (size == 0) return;  // nothing is addressed
  SIAL_CHECK(v.data != nullptr, "operand {} has {} elements but no data", name, size);
  for (int i = 0; i < v.rank; ++i)
    SIAL_CHECK(v.extent[i] == 1 || v.stride[i] > 0, "operand {}, dimension {}: stride {}", name, i, v.stride[i]);
}

template <class T, class U>
void check_same_extent(const BlockView<T>& x, int i, const BlockView<U>& y, int j) {
  SIAL_CHECK(x.extent[i] == y.extent[j], "label {} has extent {} in one operand and {} in the other", x.label[i],
             x.extent[i], y.extent[j]);
}

/// Odometer over up to three operands at once: calls f(offset_d, offset_a, offset_b) for every position, first dim
/// fastest.
template <class F>
void each_position(const std::vector<LoopDim>& dims, F&& f) {
  for (const LoopDim& dim : dims)
    if (dim.extent == 0) return;
  std::vector<std::int64_t> at(dims.size(), 0);
  std::int64_t d = 0, a = 0, b = 0;
  for (;;) {
    f(d, a, b);
    std::size_t i = 0;
    for (; i < dims.size(); ++i) {
      d += dims[i].d, a += dims[i].a, b += dims[i].b;
      if (++at[i] < dims[i].extent) break;
      d -= dims[i].d * dims[i].extent, a -= dims[i].a * dims[i].extent, b -= dims[i].b * dims[i].extent;
      at[i] = 0;
    }
    if (i == dims.size()) return;
  }
}

}  // namespace

LoopSpace resolve(const BlockOp& op) {
  check_view(op.d, "d");
  check_view(op.a, "a");
  if (op.has_b) check_view(op.b, "b");
  LoopSpace space;
  for (int i = 0; i < op.d.rank; ++i) {
    const int in_a = find_label(op.a, op.d.label[i]);
    const int in_b = op.has_b ? find_label(op.b, op.d.label[i]) : -1;
    SIAL_CHECK((in_a >= 0) != (in_b >= 0), "label {} of the result must appear in exactly one operand", op.d.label[i]);
    if (in_a >= 0) {
      check_same_extent(op.d, i, op.a, in_a);
      space.rows.push_back({op.d.extent[i], op.d.stride[i], op.a.stride[in_a], 0});
    } else {
      check_same_extent(op.d, i, op.b, in_b);
      space.columns.push_back({op.d.extent[i], op.d.stride[i], 0, op.b.stride[in_b]});
    }
  }
  for (int i = 0; i < op.a.rank; ++i) {
    if (find_label(op.d, op.a.label[i]) >= 0) continue;
    const int in_b = op.has_b ? find_label(op.b, op.a.label[i]) : -1;
    SIAL_CHECK(in_b >= 0, "label {} appears in a only", op.a.label[i]);
    check_same_extent(op.a, i, op.b, in_b);
    space.summed.push_back({op.a.extent[i], 0, op.a.stride[i], op.b.stride[in_b]});
  }
  const int in_b = op.has_b ? op.b.rank : 0;
  SIAL_CHECK(static_cast<int>(space.columns.size() + space.summed.size()) == in_b, "operand b has a label of its own");
  return space;
}

std::vector<LoopDim> resolve_dot(const ConstView& a, const ConstView& b) {
  check_view(a, "a");
  check_view(b, "b");
  SIAL_CHECK(a.rank == b.rank, "a full contraction of rank {} with rank {}", a.rank, b.rank);
  std::vector<LoopDim> dims;
  for (int i = 0; i < a.rank; ++i) {
    const int j = find_label(b, a.label[i]);
    SIAL_CHECK(j >= 0, "label {} of a full contraction is missing in b", a.label[i]);
    check_same_extent(a, i, b, j);
    dims.push_back({a.extent[i], 0, a.stride[i], b.stride[j]});
  }
  return dims;
}

std::int64_t volume(const std::vector<LoopDim>& dims) {
  std::int64_t n = 1;
  for (const LoopDim& dim : dims) n *= dim.extent;
  return n;
}

std::int64_t group_stride(const std::vector<LoopDim>& group, std::int64_t LoopDim::* s) {
  std::int64_t first = 1, next = -1;
  for (const LoopDim& dim : group) {
    if (dim.extent == 1) continue;
    if (next < 0) first = dim.*s;
    else if (dim.*s != next) return 0;
    next = dim.*s * dim.extent;
  }
  return first;
}

std::vector<LoopDim> ordered(std::vector<LoopDim> group, std::int64_t LoopDim::* s) {
  std::stable_sort(group.begin(), group.end(), [s](const LoopDim& p, const LoopDim& q) { return p.*s < q.*s; });
  return group;
}

void run_plain(const BlockOp& op, const LoopSpace& space) {
  std::vector<LoopDim> free = space.rows;
  free.insert(free.end(), space.columns.begin(), space.columns.end());
  each_position(free, [&](std::int64_t d, std::int64_t a, std::int64_t b) {
    double value = 0.0;
    if (op.has_b)
      each_position(space.summed, [&](std::int64_t, std::int64_t sa, std::int64_t sb) {
        value += op.a.data[a + sa] * op.b.data[b + sb];
      });
    else value = op.a.data[a];
    value *= op.alpha;
    op.d.data[d] = op.beta == 0.0 ? value : value + op.beta * op.d.data[d];
  });
}

double dot_plain(const ConstView& a, const ConstView& b) {
  double sum = 0.0;
  each_position(resolve_dot(a, b),
                [&](std::int64_t, std::int64_t oa, std::int64_t ob) { sum += a.data[oa] * b.data[ob]; });
  return sum;
}

}  // namespace sial::kernels
