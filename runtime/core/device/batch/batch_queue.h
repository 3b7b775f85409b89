#pragma once
// Small work of one stream that waits to be started, and in which order and company it may be: a piece comes after
// those queued before it that share memory with it, where one of the two writes, and pieces of one shape that nothing
// keeps apart are one batch. Memory is judged by the spans of views, from their first element to their last. A value:
// owns steps and energies, not the memory.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/device/device.h"

namespace sial {

/// Whether it is so little that starting it on a GPU takes about as long as doing it there, `elements` being what
/// counts as little.
bool is_small(const BlockOp& op, std::int64_t elements);
bool is_small(const MutableView& target, std::span<const kernels::FusedStep> steps, std::int64_t elements);

class BatchQueue {
 public:
  void add(const BlockOp& op);
  /// Steps and the energies that they point to are copied.
  void add(const MutableView& target, std::span<const kernels::FusedStep> steps);
  std::size_t size() const { return pieces_.size(); }

  /// Pieces that may be started at once, all of one kind.
  struct Batch {
    std::vector<BlockOp> ops;
    std::vector<FusedWork> groups;  // which point into the queue they were taken from
    std::size_t size() const { return ops.size() + groups.size(); }
  };
  /// All that is queued, in an order that keeps its results.
  std::vector<Batch> batches() const;

 private:
  struct Span {
    std::uintptr_t begin = 0, end = 0;
  };
  /// Memory that pieces touch: the least level of one that comes after those that write there, and after all of them.
  /// Spans that meet are one stretch from then on, so parts of a block that are taken together once keep each other's
  /// order.
  struct Stretch {
    std::uintptr_t end = 0;
    std::size_t after_writes = 0, after_all = 0;
  };
  struct Piece {
    BlockOp op;
    MutableView target;
    std::vector<kernels::FusedStep> steps;  // empty: op
    std::vector<std::shared_ptr<const EnergyDifferences>> energies;
    std::vector<std::int64_t> shape;  // what pieces of one batch have in common
    Span written;
    std::vector<Span> read;
    std::size_t level = 0;  // after all pieces of lower ones
  };
  template <class T>
  static Span span_in_memory(const BlockView<T>& v);
  void touch(const Span& span);
  Stretch* stretch_of(const Span& span);
  void queue(Piece piece);

  std::vector<Piece> pieces_;
  std::map<std::uintptr_t, Stretch> touched_;  // by where it begins
};

}  // namespace sial
