#include "runtime/core/interp/context/bind.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

std::string values_remedy(const std::string& name) {
  return fmt::format("give it a value with `--set {}=...` or under [values] in the job file", name);
}

[[noreturn]] void fail_undefined_int(const Module& module, const JobData& job, const std::string& name) {
  if (const auto real = job.scalars.find(name); real != job.scalars.end())
    throw SialError(fmt::format("program `{}` needs the predefined int `{}`, and the job gives it the real number {}",
                                module.program, name, real->second),
                    values_remedy(name) + ", a number without a point");
  throw SialError(
      fmt::format("program `{}` needs the predefined int `{}`, and the job does not define it", module.program, name),
      values_remedy(name));
}

/// "1:5", and where symbolic bounds come from: "1:5 (`norb` is 5)".
std::string range_text(const IndexRow& row, const BoundIndex& index, const Module& module) {
  std::string text = fmt::format("{}:{}", index.lo, index.hi), names;
  for (const auto& [bound, value] : {std::pair(row.lo, index.lo), std::pair(row.hi, index.hi)})
    if (bound.symbolic)
      names += fmt::format("{}`{}` is {}", names.empty() ? "" : ", ", module.ints[bound.value].name, value);
  return names.empty() ? text : fmt::format("{} ({})", text, names);
}

std::int32_t bound_value(const Bound& bound, const Module& module, const JobData& job) {
  if (!bound.symbolic) return bound.value;
  return job.ints.at(module.ints[bound.value].name);  // initial values have been checked before
}

BoundIndex bind_index(const IndexRow& row, const Module& module, const JobData& job,
                      const std::vector<BoundIndex>& done) {
  BoundIndex index;
  index.name = row.name;
  if (row.kind == IndexKind::sub) {
    const BoundIndex& parent = done[row.parent.at()];
    index = parent;
    index.name = row.name;
    index.is_sub = true;
    index.parent = row.parent;
    index.lo = 1;
    index.hi = subsegments_per_segment;
    return index;
  }
  index.kind = row.kind;
  index.lo = bound_value(row.lo, module, job);
  index.hi = bound_value(row.hi, module, job);
  if (index.lo == std::numeric_limits<std::int32_t>::min()) {
    index.problem = fmt::format("index `{}` begins at {}, which is no value of an index", row.name, index.lo);
    index.remedy = "check the predefined value its range begins with: the least is -2147483647";
    return index;
  }
  if (row.kind == IndexKind::simple || index.lo > index.hi) return index;
  const std::string kind = kind_name(row.kind);
  const auto table = job.segments.find(row.kind);
  const std::string remedy =
      fmt::format("give the segment extents with `--segments {}=...` or under [segments] in the job file", kind);
  if (index.lo < 1) {
    index.problem =
        fmt::format("index `{}` begins at segment {}, and segments are numbered from 1", row.name, index.lo);
    index.remedy = "check the predefined value its range begins with";
  } else if (table == job.segments.end()) {
    index.problem = fmt::format("index `{}` needs segments {} of kind {}, and the job has no segments of that kind",
                                row.name, range_text(row, index, module), kind);
    index.remedy = remedy;
  } else if (static_cast<std::size_t>(index.hi) > table->second.size()) {
    index.problem =
        fmt::format("not enough segments: index `{}` runs over {}, and the job has {} segment{} of kind {}", row.name,
                    range_text(row, index, module), table->second.size(), table->second.size() == 1 ? "" : "s", kind);
    index.remedy = fmt::format(
        "give {} extents with `--segments {}=...` or under [segments] in the job file, or let the range end at {}",
        index.hi, kind, table->second.size());
  } else {
    index.extents = &table->second;
  }
  return index;
}

BoundDim bind_dim(IndexId id, const BoundIndex& index, const std::vector<BoundIndex>& indices) {
  BoundDim dim;
  dim.index = id;
  dim.kind = index.kind;
  dim.is_sub = index.is_sub;
  const BoundIndex& range = index.is_sub ? indices[index.parent.at()] : index;
  dim.lo = range.lo;
  dim.hi = range.hi;
  if (index.is_sub) {
    dim.lo = combined_segment(range.lo, 1);
    dim.hi = combined_segment(range.hi, subsegments_per_segment);
  }
  dim.unit = range.extents == nullptr && !index.is_sub;
  if (dim.unit || !range.problem.empty()) return dim;
  std::int64_t total = 0;
  for (std::int32_t s = range.lo; s <= range.hi; ++s) {
    const std::int64_t whole = range.extents ? (*range.extents)[s - 1] : 1;
    const int pieces = index.is_sub ? subsegments_per_segment : 1;
    for (int piece = 1; piece <= pieces; ++piece) {
      const std::int64_t e = index.is_sub ? subsegment_extent(whole, piece) : whole;
      dim.extent.push_back(static_cast<std::int32_t>(e));
      dim.offset.push_back(total);
      total += e;
    }
  }
  dim.offset.push_back(total);
  return dim;
}

BoundArray bind_array(const ArrayRow& row, const std::vector<BoundIndex>& indices) {
  BoundArray array;
  array.name = row.name;
  array.kind = row.kind;
  array.predefined = row.predefined;
  array.rank = static_cast<std::int32_t>(row.dims.size());
  array.whole.rank = array.rank;
  std::uint64_t key_stride = 1;
  std::int64_t stride = 1;
  bool overflow = false;
  for (int d = 0; d < array.rank; ++d) {
    const BoundIndex& index = indices[row.dims[d].at()];
    BoundDim& dim = array.dim[d] = bind_dim(row.dims[d], index, indices);
    if (!index.problem.empty()) {
      array.problem = index.problem;
      array.remedy = index.remedy;
    }
    dim.key_stride = key_stride;
    overflow |= __builtin_mul_overflow(key_stride, static_cast<std::uint64_t>(std::max<std::int64_t>(dim.count(), 1)),
                                       &key_stride);
    array.whole.extent[d] = dim.total();
    array.stride[d] = stride;
    overflow |= __builtin_mul_overflow(stride, std::max<std::int64_t>(dim.total(), 1), &stride);
  }
  if (overflow && array.problem.empty()) {
    array.problem =
        fmt::format("array `{}` is too large: its blocks or elements cannot be numbered in 64 bits", row.name);
    array.remedy = "narrow the ranges of its indices";
  }
  return array;
}

ResolvedReference bind_ref(const RefRow& row, const Module& module, const std::vector<BoundIndex>& indices,
                           const std::vector<BoundArray>& arrays) {
  ResolvedReference plan;
  plan.array = row.array;
  plan.kind = arrays[row.array.at()].kind;
  plan.rank = static_cast<std::int32_t>(row.entries.size());
  const auto n_indices = static_cast<std::int32_t>(module.indices.size());
  for (int d = 0; d < plan.rank; ++d) {
    const RefEntry& in = row.entries[d];
    ResolvedReference::Entry& entry = plan.entry[d];
    entry.index = in.index;
    if (in.index == no_index) {
      entry.mode = EntryMode::wildcard;
      plan.has_wildcard = true;
      plan.label[d] = -1 - d;
      continue;
    }
    const BoundIndex& index = indices[in.index.at()];
    entry.parent = index.parent;
    entry.simple = in.as_simple || (index.kind == IndexKind::simple && !index.is_sub);
    if (index.is_sub && !in.as_simple) {
      entry.mode = arrays[row.array.at()].dim[d].is_sub ? EntryMode::combined : EntryMode::box;
      plan.has_box |= entry.mode == EntryMode::box;
    }
    plan.label[d] = in.index.number() * 2 + (in.as_simple ? 1 : 0);
    for (int e = 0; e < d; ++e)
      if (plan.label[e] == plan.label[d]) plan.label[d] += 2 * n_indices;
  }
  return plan;
}

std::vector<char> used_arrays(const Module& module) {
  std::vector<char> used(module.arrays.size(), 0);
  for (const RefRow& r : module.refs) used[r.array.at()] = 1;
  for (const RegionRow& r : module.regions) used[r.array.at()] = 1;
  for (const ArgRow& a : module.args)
    if (a.kind == ArgKind::array) used[a.id] = 1;
  for (const Instruction& i : module.code) {
    const OpcodeInfo& info = *opcode_info(i.op);
    const auto operands = operands_of(i);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool whole = info.operands[k] == OperandKind::array || (info.operands[k] == OperandKind::item && i.a == 1);
      if (whole && info.access[k] != OperandAccess::none && !info.has(op::no_data)) used[operands[k]] = 1;
    }
  }
  return used;
}

}  // namespace

std::string block_name(const BoundArray& array, const BlockIndex& block) {
  std::string text = array.name + "[";
  for (int d = 0; d < block.rank; ++d) {
    if (d) text += ',';
    const std::int32_t s = block.segment[d];
    if (array.dim[d].is_sub) {
      const std::int32_t parent = s >> 2;  // arithmetic shift: floor for negative simple values too
      static_assert(subsegments_per_segment == 4);
      text += fmt::format("{}.{}", parent, s - parent * subsegments_per_segment + 1);
    } else {
      text += std::to_string(s);
    }
  }
  return text + "]";
}

double mean_extent(const BoundProgram& program, IndexId id) {
  const BoundIndex& own = program.indices[id.at()];
  const BoundIndex& index = own.is_sub ? program.indices[own.parent.at()] : own;
  if (index.lo > index.hi) return 0;
  const double parts = own.is_sub ? subsegments_per_segment : 1;
  if (!index.extents) return 1 / parts;
  const auto segments = static_cast<std::int32_t>(index.extents->size());
  const std::int32_t lo = std::max(index.lo, 1), hi = std::min(index.hi, segments);
  if (lo > hi) return 0;
  return static_cast<double>(elements_before(index, hi + 1) - elements_before(index, lo)) / (hi - lo + 1) / parts;
}

std::vector<IndexRange> index_ranges(const BoundProgram& bound) {
  std::vector<IndexRange> ranges;
  for (const BoundIndex& i : bound.indices) ranges.push_back({i.lo, i.hi, i.problem.empty()});
  return ranges;
}

void initial_values(const Module& module, const JobData& job, std::vector<std::int32_t>& ints,
                    std::vector<double>& scalars) {
  ints.assign(std::max<std::size_t>(module.n_int_registers, module.ints.size()), 0);
  scalars.assign(std::max<std::size_t>(module.n_scalar_registers, module.scalars.size()), 0.0);
  for (std::size_t i = 0; i < module.ints.size(); ++i) {
    const IntVar& v = module.ints[i];
    ints[i] = v.initial;
    if (!v.predefined) continue;
    const auto found = job.ints.find(v.name);
    if (found == job.ints.end()) fail_undefined_int(module, job, v.name);
    ints[i] = found->second;
  }
  for (std::size_t i = 0; i < module.scalars.size(); ++i) {
    const ScalarVar& v = module.scalars[i];
    scalars[i] = v.initial;
    if (!v.predefined) continue;
    const auto found = job.scalars.find(v.name);
    if (found != job.scalars.end()) {
      scalars[i] = found->second;
    } else if (const auto whole = job.ints.find(v.name); whole != job.ints.end()) {
      scalars[i] = whole->second;  // `--set x=1` for a scalar
    } else {
      throw SialError(fmt::format("program `{}` needs the predefined scalar `{}`, and the job does not define it",
                                  module.program, v.name),
                      values_remedy(v.name));
    }
  }
}

CopyMode copy_mode(const ResolvedReference& target, const ResolvedReference& source) {
  if (target.rank == source.rank) {
    bool same_set = true;
    for (int d = 0; d < target.rank && same_set; ++d)
      same_set = std::find(source.label.begin(), source.label.begin() + source.rank, target.label[d]) !=
                 source.label.begin() + source.rank;
    return same_set ? CopyMode::by_label : CopyMode::positional;
  }
  return CopyMode::leading;
}

BoundProgram bind_program(const Module& module, const JobData& job) {
  BoundProgram bound;
  bound.module = &module;
  for (const IntVar& v : module.ints)
    if (v.predefined && !job.ints.contains(v.name)) fail_undefined_int(module, job, v.name);
  bound.indices.resize(module.indices.size());
  for (std::size_t i = 0; i < module.indices.size(); ++i)
    bound.indices[i] = bind_index(module.indices[i], module, job, bound.indices);
  for (const ArrayRow& row : module.arrays) bound.arrays.push_back(bind_array(row, bound.indices));
  for (const RefRow& row : module.refs) bound.refs.push_back(bind_ref(row, module, bound.indices, bound.arrays));
  bound.array_used = used_arrays(module);
  return bound;
}

double largest_block(const BoundProgram& program) {
  double largest = 0;
  for (const BoundArray& array : program.arrays) {
    double elements = 1;
    for (int d = 0; d < array.rank; ++d) {
      const BoundDim& dim = array.dim[d];
      if (!dim.unit)
        elements *=
            dim.extent.empty() ? 0.0 : static_cast<double>(*std::max_element(dim.extent.begin(), dim.extent.end()));
    }
    largest = std::max(largest, elements);
  }
  return largest;
}

}  // namespace sial
