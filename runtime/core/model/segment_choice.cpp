#include "runtime/core/model/segment_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/model/earlier_results.h"
#include "runtime/core/model/spill/spill_model.h"

namespace sial {
namespace {

std::string duration(double seconds) {
  constexpr double year = 365.0 * 86400;
  if (seconds < 10) return fmt::format("{:.2g} s", seconds);
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  if (seconds < 600) return fmt::format("{:.0f} s", seconds);
  if (seconds < 36000) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 10 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return seconds < year ? fmt::format("{:.0f} days", seconds / 86400) : "more than a year";
}

using Targets = std::map<std::string, std::int32_t>;

constexpr double short_job = 10.0;  // seconds: not worth a search
constexpr double min_gain = 0.12;   // of the predicted time: smaller ones are within the error of the prediction
constexpr std::int32_t largest = 64, smallest = 4;
constexpr std::int64_t min_memory_steps = 100'000, memory_steps = 5'000'000;  // of a memory plan,
constexpr std::int64_t memory_cost = 4;  // each of which takes as long as so many of counting
// A search may take a few hundredths of the predicted time, but no more than some ten seconds: steps of counting per
// second of the job, and at most. Steps, not seconds, so that the same job has the same segments again.
constexpr double steps_per_second = 1e6;
constexpr double min_steps = 4e5, max_steps = 1e8;
constexpr std::int64_t rescue_steps = 20'000'000;  // where the job would not run with the usual segments

std::int32_t value(const Job& job, const char* name) {
  const auto found = job.data.ints.find(name);
  return found == job.data.ints.end() ? 0 : found->second;
}

/// Sizes of equal pieces around the usual one, each at least a fifth larger than the one before.
std::vector<std::int32_t> candidates(const AutomaticRange& range) {
  std::vector<std::int32_t> sizes;
  const std::int32_t most = std::min({range.elements, largest, std::max(5 * range.usual, 12)}),
                     least = std::max(smallest, range.least);
  for (std::int32_t pieces = (range.elements + most - 1) / most; pieces <= range.elements; ++pieces) {
    const std::int32_t size = (range.elements + pieces - 1) / pieces;
    if (size < least) break;
    if (sizes.empty() || static_cast<double>(size) <= sizes.back() / 1.2 || size == range.usual) sizes.push_back(size);
  }
  return sizes;
}

class Search {
 public:
  Search(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const SavedArrays& saved,
         const PlanSetting& memory, const TimeSetting& time)
      : job_(without_arrays(job)), programs_(programs), saved_(saved), memory_(memory), model_(time) {
    memory_.max_steps = std::min(memory_.max_steps, memory_steps);
    memory_.explain_kernels = false;
    memory_.only_verdict = true;
  }

  SegmentChoice run() {
    SegmentChoice choice;
    const double usual = seconds({});
    choice.predicted = predicted_.at({});
    steps_left_ = static_cast<std::int64_t>(std::clamp(usual * steps_per_second, min_steps, max_steps));
    Targets chosen;
    // Segments of earlier results are kept: what is restored was saved over them.
    const bool too_large = !fits({}) && (fits_.at({}).exact || !fits_.at({}).refusal.empty());
    if (too_large) steps_left_ = std::max(steps_left_, rescue_steps);
    if ((too_large || usual >= short_job) && !fits_.at({}).hopeless && job_.restore_files.empty())
      chosen = search(choice, usual);
    if (const auto known = fits_.find(chosen); known != fits_.end()) {
      choice.refusal = known->second.refusal;
      choice.refused_at = known->second.refused_at;
    }
    return choice;
  }

 private:
  static Job without_arrays(const Job& job) {
    Job light = job;
    light.data.arrays.clear();  // which may be large
    return light;
  }

  struct Fit {
    bool fits = false, exact = true;
    bool hopeless = false;  // with any segments
    std::string refusal, refused_at;
  };

  /// Returns what is chosen.
  Targets search(SegmentChoice& choice, double usual) {
    std::vector<AutomaticRange> ranges = domain().automatic_ranges(job_);
    if (ranges.empty()) return {};
    Targets best;
    for (const AutomaticRange& range : ranges) best[range.key] = range.usual;
    double least = fits({}) ? usual : std::numeric_limits<double>::infinity();
    bool moved = false;
    if (!fits({}))
      for (AutomaticRange& range : ranges) range.least = 0;
    // All become smaller together where the usual ones do not fit, step by step, before each is looked at by itself.
    for (std::int32_t percent = 80; !fits({}) && !moved && percent * largest >= 100 * smallest && steps_left_ > 0;
         percent = percent * 4 / 5) {
      Targets smaller;
      for (const AutomaticRange& range : ranges)
        smaller[range.key] = std::max(range.usual * percent / 100, std::min(smallest, range.usual));
      if (smaller == best || !fits(smaller)) continue;
      best = smaller;
      least = seconds(smaller);
      moved = true;
    }
    if (!moved && !fits_.at({}).refusal.empty()) return {};
    for (int round = 0; round < 2; ++round) {
      bool moved_now = false;
      for (const AutomaticRange& range : ranges) moved_now |= improve(range, best, least);
      moved |= moved_now;
      if (!moved_now) break;
    }
    if (!moved || (fits({}) && least > usual * (1 - min_gain))) return {};
    for (const auto& [key, size] : with_beta(best)) choice.options.push_back(fmt::format("{}_target={}", key, size));
    choice.predicted = predicted_.at(best);
    for (const AutomaticRange& range : ranges) choice.lines.push_back(line(range, best, least));
    return best;
  }

  /// Tries all sizes of one range beside those of the others that are best so far.
  bool improve(const AutomaticRange& range, Targets& best, double& least) {
    std::vector<std::pair<double, std::int32_t>> order;
    for (const std::int32_t size : candidates(range)) {
      if (steps_left_ <= 0) break;
      Targets targets = best;
      targets[range.key] = size;
      order.emplace_back(seconds(targets), size);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [time, size] : order) {
      if (time >= least || steps_left_ <= 0) break;
      Targets targets = best;
      targets[range.key] = size;
      if (targets == best || !fits(targets)) continue;
      best = std::move(targets);
      least = time;
      return true;
    }
    return false;
  }

  /// The seconds of all programs together; a job that cannot be cut so takes for ever.
  double seconds(const Targets& targets) {
    if (const auto known = predicted_.find(targets); known != predicted_.end()) return sum(known->second);
    std::vector<PredictedTime> times;
    const JobData& data = data_with(targets);
    for (const auto& program : programs_) {
      const ProgramTime time = model_.time_of(*program, data);
      times.push_back({time.program, time.seconds});
      steps_left_ -= time.steps;
    }
    return sum(predicted_[targets] = std::move(times));
  }

  static double sum(const std::vector<PredictedTime>& times) {
    double all = 0;
    for (const PredictedTime& time : times) all += time.seconds;
    return all;
  }

  bool fits(const Targets& targets) {
    const auto [at, is_new] = fits_.try_emplace(targets);
    if (!is_new) return at->second.fits;
    PlanSetting setting = memory_;
    setting.max_steps = std::clamp(steps_left_ / memory_cost, min_memory_steps, memory_.max_steps);
    const JobData& data = data_with(targets);
    Fit& fit = at->second;
    MemoryModel plan;
    try {
      plan = model_memory(programs_, data, saved_, setting);
    } catch (const SialError&) {  // said when the programs run
      return fit.fits = true;
    }
    steps_left_ -= memory_cost * plan.steps;
    fit.fits = plan.fits(memory_.memory_per_rank);
    fit.exact = plan.exact;
    if (!fit.fits && plan.complete && !memory_.spill.empty()) {
      const SpillModel spill = model_spill(programs_, data, saved_, memory_, plan, few_accesses);
      fit.fits = spill.fits(memory_.memory_per_rank);
    }
    if (plan.certainly_too_large(memory_.memory_per_rank)) {
      const ProgramNeed& need = *std::ranges::max_element(plan.programs, {}, &ProgramNeed::certain);
      fit.hopeless = need.certain_of.starts_with(array_kind_text(ArrayKind::static_));
      fit.refused_at = need.left_at;
      fit.refusal = fmt::format(
          "out of memory for {}: the job needs at least {} per rank here, and `--memory` allows {}; nothing has run",
          need.certain_of, bytes_needed_text(need.certain),
          bytes_text(static_cast<std::int64_t>(memory_.memory_per_rank)));
    }
    return fit.fits;
  }

  /// Whether it is too large, as far as it was looked at.
  bool too_large(const Targets& targets) const {
    const auto known = fits_.find(targets);
    return known != fits_.end() && !known->second.fits;
  }

  const JobData& data_with(const Targets& targets) {
    if (targets.empty()) return job_.data;
    if (!cut_) cut_ = job_;
    else cut_->data = job_.data;
    cut_->segment_requests = job_.segment_requests;
    for (const auto& [key, size] : with_beta(targets)) cut_->segment_requests[key] = {{}, size};
    derive_job_data(*cut_);
    return cut_->data;
  }

  /// Beta orbitals are cut as alpha ones.
  Targets with_beta(Targets targets) const {
    for (const char* key : {"occ", "virt"}) {
      const std::string beta = std::string("beta_") + key;
      if (const auto found = targets.find(key); found != targets.end() &&
                                                value(job_, "nalpha_occupied") != value(job_, "nbeta_occupied") &&
                                                is_automatic(job_, beta) && is_automatic(job_, "mob"))
        targets[beta] = found->second;
    }
    return targets;
  }

  std::string line(const AutomaticRange& range, const Targets& best, double least) {
    std::vector<std::int32_t> sizes = candidates(range);
    const std::int32_t size = best.at(range.key);
    std::vector<std::string> others;
    const auto at = std::find(sizes.begin(), sizes.end(), size);
    const auto tell = [&](std::int32_t other) {
      Targets targets = best;
      targets[range.key] = other;
      if (!predicted_.contains(targets)) return;
      others.push_back(fmt::format("{} with {}{}", duration(seconds(targets)), other,
                                   too_large(targets) ? " (too large for the memory)" : ""));
    };
    if (at != sizes.end() && at != sizes.begin()) tell(*std::prev(at));
    if (at != sizes.end() && std::next(at) != sizes.end()) tell(*std::next(at));
    const auto pieces = (range.elements + size - 1) / size;
    return fmt::format(
        "segments {} = auto: {} {} in {} of about {}, for the least predicted time: {}{}{}; blocks of four such indices of about {}",
        range.key, range.elements, range.what, pieces, size, duration(least), others.empty() ? "" : ", ",
        fmt::join(others, ", "), bytes_text(8 * std::int64_t{size} * size * size * size));
  }

  const Job job_;
  std::span<const std::shared_ptr<const Module>> programs_;
  const SavedArrays& saved_;
  PlanSetting memory_;
  TimeModel model_;
  std::optional<Job> cut_;
  std::map<Targets, std::vector<PredictedTime>> predicted_;
  std::map<Targets, Fit> fits_;
  std::int64_t steps_left_ = 0;
};

}  // namespace

std::string predicted_text(const std::vector<PredictedTime>& predicted) {
  double all = 0;
  std::string programs;
  for (const PredictedTime& time : predicted) {
    all += time.seconds;
    programs += fmt::format("{}{} {}", programs.empty() ? "" : ", ", time.program, duration(time.seconds));
  }
  if (predicted.empty() || !std::isfinite(all)) return {};
  return fmt::format("predicted time: {}{}", duration(all), predicted.size() > 1 ? " (" + programs + ")" : "");
}

SegmentChoice choose_segments(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                              const SavedArrays& saved, const PlanSetting& memory, const TimeSetting& time) {
  SegmentChoice choice;
  try {
    const std::vector<std::string> restored = restored_segments(job);
    if (restored.empty()) return Search(job, programs, saved, memory, time).run();
    Job cut = job;
    for (const std::string& option : restored) apply_segments(cut, option);
    choice.options = restored;
    choice.lines = {earlier_segments_line(
        restored, fmt::format("`{}`, from which this job restores", printable_name(job.restore_files.front())))};
    SegmentChoice found = Search(cut, programs, saved, memory, time).run();
    choice.predicted = std::move(found.predicted);
    choice.refusal = found.refusal;
    choice.refused_at = found.refused_at;
  } catch (const SialError&) {
    // A misfit is reported when the programs run.
  } catch (const std::bad_alloc&) {
    // The usual segments need no search.
  }
  return choice;
}

}  // namespace sial
