#include "runtime/core/device/batch/batch_queue.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "runtime/core/base/fault_injection.h"
#include "runtime/core/device/simulated/plain_steps.h"

namespace sial {
namespace {

/// Multiplications, for each element that counts as little: reasoned, not measured. An operation takes some 5 to 10
/// microseconds to start; in 3 of them a large GPU multiplies some 1e8 times, and moves some 1e6 elements, a good part
/// of which is packed and unpacked once more.
constexpr std::int64_t products_per_element = 256;

template <class T>
std::int64_t volume(const BlockView<T>& v) {
  std::int64_t n = 1;
  for (int d = 0; d < v.rank; ++d) n *= v.extent[d];
  return n;
}

template <class T>
void describe(const BlockView<T>& v, bool labels, std::vector<std::int64_t>& shape) {
  shape.push_back(v.rank);
  for (int d = 0; d < v.rank; ++d) {
    shape.push_back(v.extent[d]);
    shape.push_back(v.stride[d]);
    if (labels) shape.push_back(v.label[d]);
  }
}

}  // namespace

bool is_small(const BlockOp& op, std::int64_t elements) {
  const std::int64_t moved = volume(op.d) + volume(op.a) + (op.has_b ? volume(op.b) : 0);
  if (moved > elements) return false;
  if (!op.has_b) return true;
  std::int64_t products = volume(op.d);
  for (int d = 0; d < op.a.rank; ++d)
    if (std::find(op.d.label.begin(), op.d.label.begin() + op.d.rank, op.a.label[d]) == op.d.label.begin() + op.d.rank)
      products *= op.a.extent[d];
  return products <= products_per_element * elements;
}

bool is_small(const MutableView& target, std::span<const kernels::FusedStep> steps, std::int64_t elements) {
  std::int64_t operands = 1;
  for (const kernels::FusedStep& s : steps) operands += (s.a.data ? 1 : 0) + (s.b.data ? 1 : 0);
  return volume(target) * operands <= elements;
}

template <class T>
BatchQueue::Span BatchQueue::span_in_memory(const BlockView<T>& v) {
  const auto begin = reinterpret_cast<std::uintptr_t>(v.data);
  return {begin, begin + sizeof(double) * static_cast<std::uintptr_t>(span_of(v))};
}

/// The span lies in one stretch from now on.
void BatchQueue::touch(const Span& span) {
  if (span.begin == span.end) return;
  auto at = touched_.upper_bound(span.begin);
  if (at != touched_.begin() && std::prev(at)->second.end > span.begin) --at;
  std::uintptr_t begin = span.begin;
  Stretch all{span.end, 0, 0};
  for (; at != touched_.end() && at->first < span.end; at = touched_.erase(at)) {
    begin = std::min(begin, at->first);
    all.end = std::max(all.end, at->second.end);
    all.after_writes = std::max(all.after_writes, at->second.after_writes);
    all.after_all = std::max(all.after_all, at->second.after_all);
  }
  touched_.emplace(begin, all);
}

BatchQueue::Stretch* BatchQueue::stretch_of(const Span& span) {
  return span.begin == span.end ? nullptr : &std::prev(touched_.upper_bound(span.begin))->second;
}

/// After all that write what it reads, and all that write or read what it writes.
void BatchQueue::queue(Piece piece) {
  touch(piece.written);
  for (const Span& s : piece.read) touch(s);
  Stretch* const written = stretch_of(piece.written);
  if (written) piece.level = written->after_all;
  for (const Span& s : piece.read)
    if (const Stretch* read = stretch_of(s); read && !fault_enabled(Fault::device_batch))
      piece.level = std::max(piece.level, read->after_writes);
  if (written) written->after_writes = written->after_all = piece.level + 1;
  for (const Span& s : piece.read)
    if (Stretch* read = stretch_of(s)) read->after_all = std::max(read->after_all, piece.level + 1);
  pieces_.push_back(std::move(piece));
}

void BatchQueue::add(const BlockOp& op) {
  Piece piece;
  piece.op = op;
  piece.shape = {0, op.has_b ? 1 : 0, std::bit_cast<std::int64_t>(op.alpha), std::bit_cast<std::int64_t>(op.beta)};
  describe(op.d, true, piece.shape);
  describe(op.a, true, piece.shape);
  piece.written = span_in_memory(op.d);
  piece.read.push_back(span_in_memory(op.a));
  if (op.has_b) {
    describe(op.b, true, piece.shape);
    piece.read.push_back(span_in_memory(op.b));
  }
  queue(std::move(piece));
}

void BatchQueue::add(const MutableView& target, std::span<const kernels::FusedStep> steps) {
  if (steps.empty()) return;
  Piece piece;
  piece.target = target;
  piece.steps.assign(steps.begin(), steps.end());
  piece.shape = {static_cast<std::int64_t>(steps.size())};
  describe(target, false, piece.shape);
  piece.written = span_in_memory(target);
  for (kernels::FusedStep& s : piece.steps) {
    piece.shape.push_back(static_cast<std::int64_t>(s.op));
    piece.shape.push_back(std::bit_cast<std::int64_t>(s.value));
    for (const kernels::FusedSource* source : {&s.a, &s.b}) {
      // A source in the target's memory is the target itself: part of what is done to it, no memory besides.
      const bool self = source->data == target.data;
      piece.shape.push_back(!source->data ? 0 : self ? 1 : 2);
      if (!source->data || self) continue;
      for (int d = 0; d < target.rank; ++d) piece.shape.push_back(source->stride[d]);
      piece.read.push_back(span_in_memory(source_view(target, *source)));
    }
    if (!s.energies) continue;
    // Energies go with a kernel, not with each of the blocks that it works on.
    s.energies = piece.energies.emplace_back(std::make_shared<const EnergyDifferences>(*s.energies)).get();
    piece.shape.push_back(static_cast<std::int64_t>(pieces_.size()));
  }
  queue(std::move(piece));
}

std::vector<BatchQueue::Batch> BatchQueue::batches() const {
  std::vector<const Piece*> order;
  for (const Piece& p : pieces_) order.push_back(&p);
  std::stable_sort(order.begin(), order.end(), [](const Piece* x, const Piece* y) { return x->level < y->level; });
  std::vector<Batch> result;
  for (auto at = order.begin(); at != order.end();) {
    const auto end = std::find_if(at, order.end(), [&](const Piece* p) { return p->level != (*at)->level; });
    std::vector<std::pair<const std::vector<std::int64_t>*, std::size_t>>
        shapes;  // of this level, and the batch of each
    for (; at != end; ++at) {
      const Piece& p = **at;
      auto found = std::find_if(shapes.begin(), shapes.end(), [&](const auto& s) { return *s.first == p.shape; });
      if (found == shapes.end()) {
        found = shapes.insert(shapes.end(), {&p.shape, result.size()});
        result.emplace_back();
      }
      Batch& batch = result[found->second];
      if (p.steps.empty()) batch.ops.push_back(p.op);
      else batch.groups.push_back({p.target, p.steps});
    }
  }
  return result;
}

}  // namespace sial
