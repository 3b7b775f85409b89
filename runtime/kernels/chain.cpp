#include "runtime/kernels/chain.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace sial::kernels {
namespace {

// A box of so many doubles and as much of some sources fit a second-level cache together.
constexpr std::int64_t box_elements = 8192;
// Of operands that are contiguous along different dimensions a box takes at least a cache line, and rather so many doubles.
constexpr std::int64_t some_lines = 64;

// From so many elements on a block is far, and sources of another order are turned box by box.
constexpr std::int64_t usual_turned_volume = 2'000'000;

int sources_of(const ChainStep& step) {
  switch (step.op) {
    case ChainOp::copy: case ChainOp::scaled_copy: case ChainOp::accumulate: return 1;
    case ChainOp::sum: return 2;
    case ChainOp::divide: case ChainOp::multiply: return step.energies->rank / 2;
    default: return 0;
  }
}

}  // namespace

ChainRunner::ChainRunner(CodeEngine* engine, std::int64_t turned_volume)
    : engine_(engine), permuter_(engine), turned_volume_(turned_volume > 0 ? turned_volume : usual_turned_volume) {}

bool chain_source(const MutableView& target, const ConstView& source, ChainSource& result) {
  if (target.rank != source.rank) return false;
  result.data = source.data;
  for (int d = 0; d < target.rank; ++d) {
    int s = 0;
    while (s < source.rank && source.label[s] != target.label[d]) ++s;
    if (s == source.rank || source.extent[s] != target.extent[d]) return false;
    result.stride[d] = target.extent[d] == 1 ? 0 : source.stride[s];
  }
  return true;
}

/// Steps with all their sources, in the target's dimensions as they are. Energies become tables, each a source that some dimensions
/// do not move in.
void ChainRunner::prepare(const MutableView& target, const std::vector<ChainStep>& steps) {
  steps_.assign(steps.size(), {});
  tables_.resize(std::max(tables_.size(), steps.size()));
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const ChainStep& from = steps[k];
    Step& to = steps_[k];
    to.op = from.op;
    to.value = from.value;
    to.n_sources = sources_of(from);
    if (!is_table(from.op)) {
      for (int q = 0; q < to.n_sources; ++q) {
        const ChainSource& source = q == 0 ? from.a : from.b;
        to.source[q] = {source.data, source.stride, source.data == target.data};
        for (int d = 0; d < target.rank; ++d) to.source[q].self &= target.extent[d] == 1 || source.stride[d] == target.stride[d];
      }
      continue;
    }
    const EnergyDifferences& e = *from.energies;
    SIAL_CHECK(e.rank == target.rank && e.rank % 2 == 0 && e.rank > 0, "differences of rank {} for a block of rank {}", e.rank, target.rank);
    for (int q = 0; q < to.n_sources; ++q) {
      std::vector<double>& table = tables_[k][q];
      table.clear();
      for (int d = 2 * q; d < 2 * q + 2; ++d)
        SIAL_CHECK(static_cast<std::int64_t>(e.energy[d].size()) == target.extent[d], "{} energies for {} orbitals", e.energy[d].size(), target.extent[d]);
      for (const double y : e.energy[2 * q + 1])
        for (const double x : e.energy[2 * q]) table.push_back(q == 0 ? e.shift + (y - x) : y - x);
      to.source[q].data = table.data();
      to.source[q].stride[2 * q] = 1;
      to.source[q].stride[2 * q + 1] = target.extent[2 * q];
    }
  }
}

/// The dimensions of more than one element in the order of the target's memory, joined where all operands go on without a gap.
void ChainRunner::join_dimensions(const MutableView& target) {
  std::array<int, max_rank> order{};
  int kept = 0;
  for (int d = 0; d < target.rank; ++d) {
    if (target.extent[d] == 1) continue;
    int at = kept++;
    for (; at > 0 && target.stride[order[at - 1]] > target.stride[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  const std::vector<Step>& from = before_ = steps_;
  for (Step& s : steps_)
    for (Source& q : s.source) q.stride.fill(0);
  dims_ = 0;
  for (int k = 0; k < kept; ++k) {
    const int d = order[k], last = dims_ - 1;
    bool goes_on = dims_ > 0 && target.stride[d] == target_[last] * extent_[last];
    for (std::size_t s = 0; s < steps_.size() && goes_on; ++s)
      for (int q = 0; q < steps_[s].n_sources && goes_on; ++q) goes_on = from[s].source[q].stride[d] == steps_[s].source[q].stride[last] * extent_[last];
    if (goes_on) {
      extent_[last] *= target.extent[d];
      continue;
    }
    extent_[dims_] = target.extent[d];
    target_[dims_] = target.stride[d];
    for (std::size_t s = 0; s < steps_.size(); ++s)
      for (int q = 0; q < steps_[s].n_sources; ++q) steps_[s].source[q].stride[dims_] = from[s].source[q].stride[d];
    ++dims_;
  }
  if (dims_ > 0) return;
  dims_ = 1;
  extent_[0] = target_[0] = 1;
}

/// Steps go together as long as their sources are contiguous along the target's fastest dimension, or all others along one second one.
/// Where a cache does not hold the block, those others are turned box by box, so that they are like the first.
void ChainRunner::make_groups() {
  groups_.clear();
  std::int64_t volume = 1;
  for (int d = 0; d < dims_; ++d) volume *= extent_[d];
  const bool turn = dims_ > 1 && volume >= turned_volume_;
  const auto across = [&](const Source& s) {
    if (s.self || s.turned || s.stride[0] == 0 || s.stride[0] == 1) return -1;
    for (int d = 1; d < dims_; ++d)
      if (s.stride[d] == 1) return d;
    return -1;
  };
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    int wanted = -1;
    bool alone = false;
    for (int q = 0; q < steps_[k].n_sources; ++q) {
      Source& source = steps_[k].source[q];
      source.turned = turn && !source.self && !is_table(steps_[k].op) && source.stride[0] > 1;
      if (const int d = across(source); d > 0) {
        alone = wanted > 0 && wanted != d;
        wanted = d;
      }
    }
    const bool fits = !groups_.empty() && !alone && k - groups_.back().first < ChainTile::most_steps && (wanted < 0 || groups_.back().across < 0 || wanted == groups_.back().across);
    if (!fits) groups_.push_back({k, k, -1, -1, -1, nullptr});
    groups_.back().last = k + 1;
    if (wanted > 0) groups_.back().across = wanted;
  }
  for (Group& g : groups_) g.code = code_of(g);
}

ChainCode ChainRunner::code_of(const Group& group) {
  if (engine_ == nullptr || target_[0] != 1) return nullptr;
  std::array<ChainCodeStep, ChainTile::most_steps> steps;
  for (std::size_t k = group.first; k < group.last; ++k) {
    ChainCodeStep& to = steps[k - group.first];
    to.op = steps_[k].op;
    for (int q = 0; q < steps_[k].n_sources; ++q) {
      const Source& s = steps_[k].source[q];
      to.form[q] = s.self                                            ? SourceForm::self
                   : s.turned || s.stride[0] == 1                    ? SourceForm::along
                   : s.stride[0] == 0                                ? SourceForm::same
                   : group.across > 0 && s.stride[group.across] == 1 ? SourceForm::across
                                                                     : SourceForm::spread;
    }
  }
  const CodeKey key = chain_key(std::span(steps.data(), group.last - group.first));
  const auto found = ready_.find(key);
  if (found != ready_.end()) return found->second;
  const auto code = reinterpret_cast<ChainCode>(engine_->find(key));
  if (code) ready_.emplace(key, code);
  return code;
}

/// How much of each dimension a box takes: all where operands go on together; else lines of each operand's fastest dimension, long
/// rows of the target, then of what comes next in the operands.
void ChainRunner::choose_box() {
  tile_.fill(1);
  if (dims_ == 1 && groups_.size() == 1 && groups_.front().code) {
    tile_[0] = extent_[0];
    return;
  }
  std::int64_t volume = 1;
  const auto widen = [&](int d, std::int64_t most) {
    volume /= tile_[d];
    tile_[d] = std::clamp(std::min(most, box_elements / volume), tile_[d], extent_[d]);
    volume *= tile_[d];
  };
  // The n-th dimension in a source's own memory.
  const auto nth = [&](const Source& s, int n) {
    std::array<int, max_rank> order{};
    int kept = 0;
    for (int d = 0; d < dims_; ++d) {
      if (s.stride[d] == 0) continue;
      int at = kept++;
      for (; at > 0 && s.stride[order[at - 1]] > s.stride[d]; --at) order[at] = order[at - 1];
      order[at] = d;
    }
    return n < kept ? order[n] : 0;
  };
  const auto of_sources = [&](int n, std::int64_t most) {
    for (const Step& s : steps_)
      for (int q = 0; q < s.n_sources && !is_table(s.op); ++q)
        if (!s.source[q].self) widen(nth(s.source[q], n), most);
  };
  widen(0, cache_line);
  of_sources(0, cache_line);
  widen(0, some_lines);
  of_sources(0, some_lines);
  widen(0, extent_[0]);
  if (dims_ > 1) widen(1, cache_line);
  of_sources(1, cache_line);
  for (int d = 1; d < dims_; ++d) widen(d, extent_[d]);
  // Inner loops follow the target's memory.
  for (Group& g : groups_) {
    g.second = g.across;
    for (int d = 1; d < dims_; ++d)
      if (tile_[d] > 1 && d != g.second && g.third < 0) (g.second < 0 ? g.second : g.third) = d;
  }
  std::size_t size = 0;
  for (int d = 0; d < dims_; ++d) box_[d] = d == 0 ? 1 : box_[d - 1] * tile_[d - 1];
  for (Step& s : steps_)
    for (int q = 0; q < s.n_sources; ++q)
      if (s.source[q].turned) s.source[q].copy = std::exchange(size, size + static_cast<std::size_t>(volume));
  if (copies_.size() < size) copies_.resize(size);
}

/// What the box at hand takes of the turned sources, in the order of the target.
void ChainRunner::turn_sources(const Extents& first, const Extents& extent) {
  for (const Step& s : steps_)
    for (int q = 0; q < s.n_sources; ++q) {
      const Source& source = s.source[q];
      if (!source.turned) continue;
      std::vector<PairDim> dims;
      const double* from = source.data;
      for (int d = 0; d < dims_; ++d) {
        dims.push_back({extent[d], box_[d], source.stride[d]});
        from += first[d] * source.stride[d];
      }
      permuter_.run(copies_.data() + source.copy, from, std::move(dims), 1.0, 0.0);
    }
}

/// A group of steps on a box. The first of its steps that was to divide by zero, or none.
std::ptrdiff_t ChainRunner::run_group(const Group& group, double* target, const Extents& first, const Extents& extent) {
  const int dims[3] = {0, group.second, group.third};
  for (int k = 0; k < 3; ++k) {
    work_.extent[k] = dims[k] < 0 ? 1 : extent[dims[k]];
    work_.target_stride[k] = dims[k] < 0 ? 0 : target_[dims[k]];
  }
  for (std::size_t s = group.first; s < group.last; ++s) {
    work_.value[s - group.first] = steps_[s].value;
    for (int q = 0; q < steps_[s].n_sources; ++q)
      for (int k = 0; k < 3; ++k)
        work_.source[ChainTile::sources_per_step * (s - group.first) + q].stride[k] =
            dims[k] < 0 ? 0 : steps_[s].source[q].turned ? box_[dims[k]] : steps_[s].source[q].stride[dims[k]];
  }
  std::ptrdiff_t failed = none;
  Extents at = first;
  for (;;) {
    std::int64_t offset = 0;
    for (int d = 0; d < dims_; ++d) offset += at[d] * target_[d];
    work_.target = target + offset;
    for (std::size_t s = group.first; s < group.last; ++s)
      for (int q = 0; q < steps_[s].n_sources; ++q) {
        const Source& source = steps_[s].source[q];
        const double* data = source.turned ? copies_.data() + source.copy : source.data;
        for (int d = 0; d < dims_; ++d) data += source.turned ? (at[d] - first[d]) * box_[d] : at[d] * source.stride[d];
        work_.source[ChainTile::sources_per_step * (s - group.first) + q].data = data;
      }
    if (group.code) {
      const std::int64_t zeros = group.code(&work_);
      for (std::size_t s = group.first; s < group.last && zeros != 0; ++s)
        if ((zeros >> (s - group.first)) & 1) {
          if (failed == none || static_cast<std::ptrdiff_t>(s) < failed) failed = static_cast<std::ptrdiff_t>(s);
          break;
        }
    } else {
      const std::size_t end = failed == none ? group.last : static_cast<std::size_t>(failed);
      for (std::size_t s = group.first; s < end; ++s)
        if (!run_chain_step(work_, steps_[s].op, static_cast<int>(s - group.first), steps_[s].n_sources)) {
          failed = static_cast<std::ptrdiff_t>(s);
          break;
        }
    }
    int d = 1;
    for (; d < dims_; ++d) {
      if (d == group.second || d == group.third) continue;
      if (++at[d] < first[d] + extent[d]) break;
      at[d] = first[d];
    }
    if (d >= dims_) return failed;
  }
}

std::ptrdiff_t ChainRunner::run(const MutableView& target, const std::vector<ChainStep>& steps) {
  for (int d = 0; d < target.rank; ++d)
    if (target.extent[d] == 0) return none;
  if (steps.empty()) return none;
  prepare(target, steps);
  join_dimensions(target);
  make_groups();
  choose_box();
  Extents first{}, extent{};
  std::ptrdiff_t failed = none;
  for (;;) {
    for (int d = 0; d < dims_; ++d) extent[d] = std::min(tile_[d], extent_[d] - first[d]);
    turn_sources(first, extent);
    // A step that fails in one box fails the whole; of several the first in the program's order is the one to report.
    for (const Group& g : groups_) {
      if (failed != none && static_cast<std::ptrdiff_t>(g.first) >= failed) break;
      const std::ptrdiff_t zero = run_group(g, target.data, first, extent);
      if (zero == none) continue;
      failed = failed == none ? zero : std::min(failed, zero);
      break;
    }
    int d = 0;
    for (; d < dims_; ++d) {
      first[d] += tile_[d];
      if (first[d] < extent_[d]) break;
      first[d] = 0;
    }
    if (d == dims_) return failed;
  }
}

}  // namespace sial::kernels
