#include "compiler/tools/facts/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "compiler/analysis/bound.h"
#include "compiler/analysis/bound_costs.h"
#include "compiler/analysis/ranges.h"
#include "compiler/analysis/walk.h"
#include "compiler/analysis/work.h"
#include "compiler/tools/facts/numbers.h"
#include "compiler/tools/facts/same_lines.h"
#include "runtime/core/base/error.h"

namespace sial::facts {
namespace {

class Gatherer {
 public:
  explicit Gatherer(Input input) : in_(std::move(input)) {}

  Facts run() {
    f_.report = report::describe(in_.module);
    choose_numbers();
    add_remarks();
    for (const report::SourceLine& l : f_.report.lines) line({l.file, l.line}).line = l;
    add_costs();
    for (std::size_t r = 0; r < f_.report.remarks.size(); ++r) {
      const SourcePlace& place = f_.report.remarks[r].place;
      line({place.file, place.line}).remarks.push_back(r);
    }
    add_measured();
    add_arrays(f_, in_);
    return std::move(f_);
  }

 private:
  LineFacts& line(LineKey key) { return f_.lines[key]; }

  /// Chooses the job's numbers, or the run's, if they are all that the program needs.
  void choose_numbers() {
    if (!in_.numbers && in_.run && in_.run->job) in_.numbers = Numbers{*in_.run->job, "the last run"};
    if (!in_.numbers) return;
    job_ = job_of(in_.numbers->values);
    job_->max_steps = in_.max_steps;
    try {
      counts_ = analysis::count_job(in_.program, *job_);
      f_.numbers_from = in_.numbers->origin;
    } catch (const SialError& missing) {
      f_.notes.push_back(fmt::format("no numbers of {}: {}", in_.numbers->origin, missing.what()));
      in_.numbers.reset();
      job_.reset();
    }
  }

  /// Sorted by what they cost in this job, where it is known.
  void add_remarks() {
    if (!job_) return;
    report::Run sizes;
    sizes.ranks = 1;
    const analysis::BoundCosts costs(in_.program, *job_);
    for (std::size_t i = 0; i < in_.module.indices.size(); ++i) {
      const std::vector<std::int32_t> extents = extents_of(in_.program, *job_, IndexId(static_cast<std::int32_t>(i)));
      double sum = 0;
      for (const std::int32_t e : extents) sum += e;
      const double n = static_cast<double>(extents.size());
      sizes.sizes[in_.module.indices[i].name] = {n, n > 0 ? sum / n : 1.0};
    }
    report::bind(f_.report, std::move(sizes));
    f_.report.run.reset();
  }

  void add_costs() {
    const analysis::Ranges ranges(in_.program);
    analysis::visit(in_.program, [&](const ir::Node& n, const analysis::Path&) {
      const bool loop = std::holds_alternative<ir::Loop>(n.value);
      const auto* instr = std::get_if<ir::Instr>(&n.value);
      if (!loop && instr == nullptr) return;
      const LineKey key{n.place.file, n.place.line};
      if (loop) {
        if (counts_) line(key).iterations = counts_->iterations[static_cast<std::size_t>(n.id)];
        return;
      }
      const analysis::Work work = analysis::work_of(in_.program, *instr);
      if (work.bytes.is_zero() && work.flops.is_zero()) return;
      LineFacts& l = line(key);
      const analysis::Executions& often = ranges.of(n.id);
      l.times = cost_text(often.most, in_.program.indices);
      l.each_rank = often.per_rank;
      l.at_most = l.at_most || !often.exact;
      if (!work.flops.is_zero()) flops_[key] += work.flops;
      if (!work.bytes.is_zero()) bytes_[key] += work.bytes;
      if (!counts_) return;
      const analysis::NodeCount& c = counts_->nodes[static_cast<std::size_t>(n.id)];
      l.executions = std::max(l.executions.value_or(0), c.executions);
      l.flops += c.flops;
      l.bytes += c.bytes;
      l.moved += c.moved;
      l.at_most = counts_->nodes[static_cast<std::size_t>(n.id)].exact ? l.at_most && !counts_->exact : true;
    });
    for (const auto& [key, cost] : flops_) line(key).flops_each = cost_text(cost, in_.program.indices);
    for (const auto& [key, cost] : bytes_) line(key).bytes_each = cost_text(cost, in_.program.indices);
  }

  /// Lines of the run's texts, by the lines of the present ones; empty where nobody knows.
  std::vector<int> run_lines(std::size_t file, std::string& name) const {
    const report::Run& run = *in_.run;
    const std::string& wanted = in_.module.files[file];
    const auto last = [](const std::string& path) { return path.substr(path.find_last_of('/') + 1); };
    std::size_t found = run.files.size();
    for (std::size_t f = 0; f < run.files.size(); ++f)
      if (file == main_file() ? f == 0 : f > 0 && last(run.files[f]) == last(wanted)) {
        if (found < run.files.size()) return {};  // two of that name
        found = f;
      }
    if (found == run.files.size()) return {};
    name = run.files[found];
    if (!f_.run_of_this_text && found >= run.sources.size()) return {};
    if (f_.run_of_this_text) return same_lines(in_.texts[file], in_.texts[file]);
    std::vector<int> lines = same_lines(run.sources[found], in_.texts[file]);
    // A text that has less than half of its lines left may be that of another program of this name.
    const auto left = std::count_if(lines.begin(), lines.end(), [](int n) { return n > 0; });
    if (2 * left < std::count(run.sources[found].begin(), run.sources[found].end(), '\n')) lines.clear();
    return lines;
  }
  /// The program's own file is the first of a module.
  static std::size_t main_file() { return 0; }

  void add_measured() {
    if (!in_.run) return;
    const report::Run& run = *in_.run;
    f_.ranks = std::max(1, run.ranks);
    f_.run_of_this_text = !run.source_hash.empty() && run.source_hash == in_.source_hash;
    f_.run_of_these_numbers = in_.numbers && run.job == in_.numbers->values;
    if (run.source_hash.empty()) {
      f_.notes.push_back(fmt::format("`{}` is of a job that ran several versions of this program", run.path));
      return;
    }
    int same = 0, measured = 0;
    std::map<std::pair<std::string, int>, Measured> lines;
    for (const report::CostLine& c : run.lines) {
      Measured& m = lines[{c.file, c.line}];
      m.executions += c.executions;
      m.seconds += c.seconds / f_.ranks;
      m.slowest = std::max(m.slowest, c.slowest_seconds);
      m.flops += c.flops;
      f_.seconds += c.seconds / f_.ranks;
    }
    for (const report::AccessLine& a : run.accesses) {
      Measured& m = lines[{a.file, a.line}];
      m.waits += a.wait_seconds / f_.ranks;
      m.moved += a.moved;
    }
    for (std::size_t file = 0; file < in_.texts.size(); ++file) {
      std::string name;
      const std::vector<int> before = run_lines(file, name);
      for (std::size_t now = 1; now < before.size(); ++now) {
        if (before[now] == 0) continue;
        const auto found = lines.find({name, before[now]});
        if (found == lines.end()) continue;
        line({static_cast<int>(file), static_cast<int>(now)}).measured = found->second;
        ++same;
      }
      for (const auto& [place, m] : lines) measured += place.first == name;
    }
    if (f_.run_of_this_text) return;
    f_.notes.push_back(
        measured == 0
            ? fmt::format("`{}` kept no sources to compare with: nothing of it is shown", run.path)
            : fmt::format("the text was changed since the run of `{}`: {} of {} measured lines are still the same",
                          run.path, same, measured));
  }

  Input in_;
  Facts f_;
  std::optional<analysis::Job> job_;
  std::optional<analysis::JobCounts> counts_;
  std::map<LineKey, Cost> flops_, bytes_;
};

}  // namespace

Facts gather(Input input) { return Gatherer(std::move(input)).run(); }

}  // namespace sial::facts
