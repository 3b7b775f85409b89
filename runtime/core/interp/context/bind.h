#pragma once
// Binding a module to a job: ranges become numbers, dimensions get their segment tables, block references become plans
// that the interpreter evaluates without look-ups. A BoundProgram is read-only afterwards and owned by its machine; it
// refers to the module, which must outlive it. An index or array that does not fit the job's segment tables is not
// refused here: it carries its problem, which becomes an error when the program uses it (imported definitions often
// declare more than a job provides).

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// An index with its bounds as numbers. Kind and tables of a subindex are its parent's; its bounds are 1..4.
struct BoundIndex {
  std::string name;
  IndexKind kind = IndexKind::simple;
  bool is_sub = false;
  IndexId parent = no_index;
  std::int32_t lo = 0, hi = -1;
  const std::vector<std::int32_t>* extents =
      nullptr;                  // segment s has extent (*extents)[s - 1]; null: every extent is 1
  std::string problem, remedy;  // not empty: the range does not fit the segment table
};

/// Elements of the index's kind before a segment: the position of its first one. Of a simple index, its value from 0.
inline std::int64_t elements_before(const BoundIndex& index, std::int32_t segment) {
  if (!index.extents) return segment - 1;
  std::int64_t n = 0;
  const std::int32_t last = std::min(segment, static_cast<std::int32_t>(index.extents->size()) + 1);
  for (std::int32_t s = 1; s < last; ++s) n += (*index.extents)[s - 1];
  return n;
}

/// One dimension of an array. Dimensions over a subindex use combined segment numbers, `combined_segment` below, so
/// that blocks of different parent segments are different blocks; after that they are dimensions like all others.
struct BoundDim {
  IndexId index;
  IndexKind kind = IndexKind::simple;
  bool is_sub = false;
  std::int32_t lo = 0, hi = -1;      // segment numbers
  bool unit = false;                 // simple: extents 1, offset = segment - lo
  std::vector<std::int32_t> extent;  // [segment - lo]
  std::vector<std::int64_t> offset;  // [segment - lo], one more entry: the total
  std::uint64_t key_stride = 0;
  std::int64_t extent_of(std::int32_t segment) const { return unit ? 1 : extent[segment - lo]; }
  std::int64_t offset_of(std::int32_t segment) const { return unit ? segment - lo : offset[segment - lo]; }
  std::int64_t count() const { return hi < lo ? 0 : std::int64_t{hi} - lo + 1; }
  std::int64_t total() const { return unit ? count() : (offset.empty() ? 0 : offset.back()); }
};

struct BoundArray {
  std::string name;
  ArrayKind kind = ArrayKind::temp;
  bool predefined = false;
  std::int32_t rank = 0;
  std::array<BoundDim, max_rank> dim;
  Shape whole;                                  // dense extents (static arrays, and for messages)
  std::array<std::int64_t, max_rank> stride{};  // of the dense array
  std::string problem, remedy;
};

enum class EntryMode : std::int32_t {
  segment,   // the index's value is the segment number (or simple value, or (index)-cast value)
  combined,  // a subindex on a dimension declared over one
  box,       // a subindex on a dimension declared over its parent: a part of the parent's block
  wildcard,
};

struct ResolvedReference {
  struct Entry {
    EntryMode mode = EntryMode::segment;
    IndexId index = no_index, parent = no_index;
    bool simple = false;
  };
  ArrayId array;
  std::int32_t rank = 0;
  ArrayKind kind = ArrayKind::temp;
  bool has_box = false, has_wildcard = false;
  std::array<Entry, max_rank> entry;
  std::array<std::int32_t, max_rank> label{};  // repeated names get different labels, in order of occurrence
};

/// The correspondence of the operands of a copy or put.
enum class CopyMode : std::int32_t { by_label, leading, positional };

struct BoundProgram {
  const Module* module = nullptr;
  std::vector<BoundIndex> indices;
  std::vector<BoundArray> arrays;
  std::vector<ResolvedReference> refs;
  std::vector<char> array_used;  // referenced by the code in any way
};

/// Elements of the largest block of any array.
double largest_block(const BoundProgram& program);

inline std::int32_t combined_segment(std::int32_t parent, std::int32_t sub) {
  return parent * subsegments_per_segment + (sub - 1);
}
/// Extent of subsegment `sub` (from 1) of a segment with `extent` elements, and the elements before it.
inline std::int64_t subsegment_extent(std::int64_t extent, std::int32_t sub) {
  const std::int64_t q = extent / subsegments_per_segment, r = extent % subsegments_per_segment;
  return q + (sub <= r ? 1 : 0);
}
inline std::int64_t subsegment_offset(std::int64_t extent, std::int32_t sub) {
  const std::int64_t q = extent / subsegments_per_segment, r = extent % subsegments_per_segment;
  return q * (sub - 1) + std::min<std::int64_t>(sub - 1, r);
}

/// Calls f(at) for every block of `array` whose segments lie in lo..hi, the first dimension fastest. `At` has block,
/// shape, size and key.
template <class At, class F>
void walk_blocks(const BoundArray& array, const std::array<std::int32_t, max_rank>& lo,
                 const std::array<std::int32_t, max_rank>& hi, At& at, F&& f) {
  at.block.rank = at.shape.rank = array.rank;
  for (int d = 0; d < array.rank; ++d) {
    if (lo[d] > hi[d]) return;
    at.block.segment[d] = lo[d];
  }
  for (;;) {
    at.key = 0;
    at.size = 1;
    for (int d = 0; d < array.rank; ++d) {
      const BoundDim& dim = array.dim[d];
      at.shape.extent[d] = dim.extent_of(at.block.segment[d]);
      at.size *= at.shape.extent[d];
      at.key += static_cast<std::uint64_t>(at.block.segment[d] - dim.lo) * dim.key_stride;
    }
    f(at);
    int d = 0;
    for (; d < array.rank; ++d) {
      if (++at.block.segment[d] <= hi[d]) break;
      at.block.segment[d] = lo[d];
    }
    if (d == array.rank) return;
  }
}

/// The same for all blocks of the array.
template <class At, class F>
void walk_all_blocks(const BoundArray& array, At& at, F&& f) {
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < array.rank; ++d) {
    lo[d] = array.dim[d].lo;
    hi[d] = array.dim[d].hi;
  }
  walk_blocks(array, lo, hi, at, f);
}

/// Distributed and served arrays of which the job gives all blocks when the program begins.
inline std::vector<ArrayId> remote_input_arrays(const BoundProgram& program) {
  std::vector<ArrayId> input;
  for (std::size_t a = 0; a < program.arrays.size(); ++a)
    if (const BoundArray& array = program.arrays[a];
        array.predefined && is_remote(array.kind) && program.array_used[a] && array.problem.empty())
      input.emplace_back(a);
  return input;
}

/// Throws SialError when a predefined int or scalar is missing (the values themselves are taken by initial_values).
BoundProgram bind_program(const Module& module, const JobData& job);

/// Mean extent of an index's segments, of a subindex's subsegments; 0 for an empty range. Segments that the job does
/// not have do not count.
double mean_extent(const BoundProgram& program, IndexId index);

/// Start values of the registers: initial values of the declarations, predefined ones from the job.
void initial_values(const Module& module, const JobData& job, std::vector<std::int32_t>& ints,
                    std::vector<double>& scalars);

CopyMode copy_mode(const ResolvedReference& target, const ResolvedReference& source);

/// The numbers that access slices are bound to.
std::vector<IndexRange> index_ranges(const BoundProgram& bound);

/// `a[1,2]`; combined segment numbers print as parent.sub.
std::string block_name(const BoundArray& array, const BlockIndex& block);

}  // namespace sial
