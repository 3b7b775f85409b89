#include "runtime/core/kernels/elementwise/fused.h"

#include <algorithm>
#include <utility>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {
namespace {

int sources_of(const FusedStep& step) {
  switch (step.op) {
    case FusedOp::copy:
    case FusedOp::scaled_copy:
    case FusedOp::accumulate: return 1;
    case FusedOp::sum: return 2;
    case FusedOp::divide:
    case FusedOp::multiply: return step.energies->rank / 2;
    default: return 0;
  }
}

}  // namespace

FusedRunner::FusedRunner(CodeEngine* engine, FusedLimits limits)
    : engine_(engine),
      permuter_(engine),
      rows_(builtin_rows(engine ? engine->facts() : processor_facts())),
      limits_(limits) {
  if (limits_.bytes_for_parts == 0) limits_.bytes_for_parts = bytes_beyond_caches();
}

bool fused_source(const MutableView& target, const ConstView& source, FusedSource& result) {
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

/// Steps with all their sources, in the target's dimensions as they are. Energies become tables, each a source that
/// some dimensions do not move in.
void FusedRunner::prepare(const MutableView& target, const std::vector<FusedStep>& steps) {
  steps_.assign(steps.size(), {});
  tables_.resize(std::max(tables_.size(), steps.size()));
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const FusedStep& from = steps[k];
    Step& to = steps_[k];
    to.op = from.op;
    to.value = from.value;
    to.n_sources = sources_of(from);
    if (!is_table(from.op)) {
      for (int q = 0; q < to.n_sources; ++q) {
        const FusedSource& source = q == 0 ? from.a : from.b;
        to.source[q] = {source.data, source.stride, source.data == target.data};
        for (int d = 0; d < target.rank; ++d)
          to.source[q].self &= target.extent[d] == 1 || source.stride[d] == target.stride[d];
      }
      continue;
    }
    const EnergyDifferences& e = *from.energies;
    SIAL_CHECK(e.rank == target.rank && e.rank % 2 == 0 && e.rank > 0 && e.rank <= 2 * FusedTile::sources_per_step,
               "differences of rank {} for a block of rank {}", e.rank, target.rank);
    for (int q = 0; q < to.n_sources; ++q) {
      std::vector<double>& table = tables_[k][q];
      table.clear();
      for (int d = 2 * q; d < 2 * q + 2; ++d)
        SIAL_CHECK(static_cast<std::int64_t>(e.energy[d].size()) == target.extent[d], "{} energies for {} orbitals",
                   e.energy[d].size(), target.extent[d]);
      for (const double y : e.energy[2 * q + 1])
        for (const double x : e.energy[2 * q]) table.push_back(q == 0 ? e.shift + (y - x) : y - x);
      to.source[q].data = table.data();
      to.source[q].stride[2 * q] = 1;
      to.source[q].stride[2 * q + 1] = target.extent[2 * q];
    }
  }
}

/// The dimensions of more than one element in the order of the target's memory, joined where all operands go on without
/// a gap.
void FusedRunner::join_dimensions(const MutableView& target) {
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
      for (int q = 0; q < steps_[s].n_sources && goes_on; ++q)
        goes_on = from[s].source[q].stride[d] == steps_[s].source[q].stride[last] * extent_[last];
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

/// Steps go together as long as their sources are contiguous along the target's fastest dimension, or all others along
/// one second one.
void FusedRunner::make_groups() {
  const auto across = [&](const Source& s) {
    if (s.self || s.stride[0] == 0 || s.stride[0] == 1) return -1;
    for (int d = 1; d < dims_; ++d)
      if (s.stride[d] == 1) return d;
    return -1;
  };
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    int wanted = -1;
    bool alone = false;
    for (int q = 0; q < steps_[k].n_sources; ++q)
      if (const int d = across(steps_[k].source[q]); d > 0) {
        alone |= wanted > 0 && wanted != d;
        wanted = d;
      }
    const bool fits = !plan_->groups.empty() && !alone && k - plan_->groups.back().first < FusedTile::max_steps &&
                      (wanted < 0 || plan_->groups.back().across < 0 || wanted == plan_->groups.back().across);
    if (!fits) plan_->groups.push_back({k, k, -1, 1, nullptr, {}});
    plan_->groups.back().last = k + 1;
    if (wanted > 0) plan_->groups.back().across = wanted;
  }
  for (Group& g : plan_->groups)
    for (std::size_t k = g.first; k < g.last; ++k)
      for (int q = 0; q < steps_[k].n_sources; ++q)
        if (!steps_[k].source[q].self) ++g.operands;
}

/// The plan for the steps and strides at hand: made when they are met for the first time.
void FusedRunner::make_plan() {
  constexpr std::size_t max_plans = 256, max_listed = 1 << 20;
  const auto add = [&](const Extents& values) { shape_.insert(shape_.end(), values.begin(), values.begin() + dims_); };
  shape_.assign({dims_, by_parts_ ? 1 : 0, aside_ ? 1 : 0, std::ssize(steps_)});
  add(extent_);
  add(target_);
  for (const Step& s : steps_) {
    shape_.push_back(static_cast<std::int64_t>(s.op));
    shape_.push_back(s.n_sources);
    for (int q = 0; q < s.n_sources; ++q) {
      shape_.push_back(s.source[q].self ? 1 : 0);
      add(s.source[q].stride);
    }
  }
  const auto found = plans_.find(shape_);
  if (found != plans_.end()) {
    plan_ = &found->second;
  } else {
    if (plans_.size() == max_plans || listed_ > max_listed) {
      plans_.clear();
      listed_ = 0;
    }
    Plan plan;
    plan_ = &plan;
    make_groups();
    choose_box();
    plan_ = &plans_.emplace(shape_, std::move(plan)).first->second;
  }
  if (plan_->generated) return;
  plan_->elements += volume(extent_);
  // The engine is asked now and then; its lock and its table are not for every small block.
  if ((plan_->calls++ & 7) != 0) return;
  plan_->generated = true;
  for (Group& g : plan_->groups) {
    if (!g.code) g.code = code_of(g);
    plan_->generated &= g.code != nullptr;
  }
  // Whole rows are for code that takes all steps together.
  if (dims_ == 1 && plan_->generated && plan_->groups.size() == 1) plan_->tile[0] = extent_[0];
}

FusedCode FusedRunner::code_of(const Group& group) {
  if (engine_ == nullptr || target_[0] != 1) return nullptr;
  std::array<FusedCodeStep, FusedTile::max_steps> steps;
  for (std::size_t k = group.first; k < group.last; ++k) {
    FusedCodeStep& to = steps[k - group.first];
    to.op = steps_[k].op;
    for (int q = 0; q < steps_[k].n_sources; ++q) {
      const Source& s = steps_[k].source[q];
      to.form[q] = s.self                                            ? SourceForm::self
                   : s.stride[0] == 1                                ? SourceForm::along
                   : s.stride[0] == 0                                ? SourceForm::same
                   : group.across > 0 && s.stride[group.across] == 1 ? SourceForm::across
                                                                     : SourceForm::spread;
    }
  }
  const CodeKey key = fused_key(std::span(steps.data(), group.last - group.first), by_parts_);
  // Built-in code takes about twice the time: less than this is over before code for it has been made.
  constexpr std::int64_t elements_worth_generating = 10'000'000;
  return reinterpret_cast<FusedCode>(plan_->elements >= elements_worth_generating ? engine_->find(key)
                                                                                  : engine_->find_saved(key));
}

std::ptrdiff_t FusedRunner::run(const MutableView& target, const std::vector<FusedStep>& steps) {
  for (int d = 0; d < target.rank; ++d)
    if (target.extent[d] == 0) return none;
  if (steps.empty()) return none;
  prepare(target, steps);
  join_dimensions(target);
  by_parts_ = needs_parts();
  aside_ = false;
  if (by_parts_) read_target(target.data);
  make_plan();
  failed_ = none;
  if (by_parts_) {
    run_parts(target.data);
  } else {
    Extents first{}, extent{};
    for (bool more = true; more;) {
      const Extents box = first;
      for (int d = 0; d < dims_; ++d) extent[d] = std::min(plan_->tile[d], extent_[d] - box[d]);
      more = advance(first, plan_->tile, {}, extent_);
      run_groups(element(target.data, box), box, extent, first);
    }
  }
  const bool copied = by_parts_ && !aside_;  // by a step that is none of the program's
  return failed_ == none || !copied ? failed_ : failed_ - 1;
}

}  // namespace sial::kernels
