#include "compiler/report/advice/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sial::report {
namespace {

class Adviser {
 public:
  Adviser(const Job& job, const OrderCosts& costs, const Recompile& recompile)
      : job_(job), costs_(costs), recompile_(recompile) {}

  JobAdvice run() {
    result_.seconds = job_.seconds;
    result_.model_seconds = order_cost(job_, modules_of(job_), costs_);
    for (const JobProgram& p : job_.programs)
      result_.programs.push_back({p.name, p.seconds, part(p.seconds), p.run.predicted_seconds, p.problem});
    find_costliest();
    add_execute_advice(job_, result_.advice, reasons_);
    add_rank_advice(job_, result_.advice);
    declarations();
    // A run whose kernels were not executed has no times, and nothing pays.
    std::erase_if(result_.advice,
                  [&](const Advice& a) { return !(a.seconds > 0 && a.seconds >= min_gain * job_.seconds); });
    std::stable_sort(result_.advice.begin(), result_.advice.end(),
                     [](const Advice& a, const Advice& b) { return a.seconds > b.seconds; });
    reason();
    opening();
    return std::move(result_);
  }

 private:
  double part(double seconds) const { return job_.seconds > 0 ? seconds / job_.seconds : 0; }

  void find_costliest() {
    for (const JobProgram& p : job_.programs)
      for (const CostLine& line : p.run.lines)
        if (const double seconds = line.seconds / job_.ranks; seconds > result_.costliest_seconds) {
          result_.costliest_seconds = seconds;
          result_.costliest = {p.name, line.file, line.line};
          program_ = &p;
          line_ = &line;
        }
    result_.costliest_share = part(result_.costliest_seconds);
  }

  void declarations() {
    for (const JobProgram& p : job_.programs)
      if (!p.unoptimized && p.seconds > 0)
        result_.undecided.push_back(fmt::format(
            "orders of indices were not judged, for which the sources of all programs of the job are needed{}",
            p.problem.empty() ? "" : ": " + p.problem));
    if (!result_.undecided.empty()) result_.undecided.resize(1);
    for (const DeclarationAdvice& found : judge_declarations(job_, costs_, recompile_)) add(found);
  }

  /// By the model's gain of each line as a part of what the model says of all of them, on the scale of what was
  /// measured.
  void add(const DeclarationAdvice& found) {
    Advice a;
    a.kind = "declaration";
    a.bytes = found.bytes;
    a.redeclarations = found.arrays;
    double most = 0;
    for (const DeclarationAdvice::Line& line : found.lines) {
      a.lines.push_back({line.program, line.file, line.line});
      if (line.seconds > most) most = line.seconds, a.at = a.lines.back();
    }
    a.seconds = found.seconds * scale() / job_.ranks;
    const std::vector<std::string> changes = changes_of(found.arrays);
    a.found = "over all uses of these arrays another order of indices costs less";
    a.change = fmt::format("declare {}{}, and write the indices of each reference in that order",
                           fmt::join(changes, "; "), changes.size() > 1 ? ", all together" : "");
    constexpr std::size_t max_named = 2;
    if (changes.size() > max_named)
      a.brief = fmt::format("declare {}, and {} more (listed below) in that order",
                            fmt::join(changes.begin(), changes.begin() + max_named, "; "), changes.size() - max_named);
    result_.advice.push_back(std::move(a));
  }

  /// "`v[a,k]` as `v[k,a]` in tran, ccsd" for each change; arrays that are alike in several programs together.
  std::vector<std::string> changes_of(const std::vector<Redeclaration>& arrays) const {
    std::vector<std::pair<std::string, std::string>> texts;  // change, programs
    for (const Redeclaration& r : arrays) {
      const std::string text = fmt::format("`{}` as `{}`", r.from, r.to);
      const auto known =
          std::find_if(texts.begin(), texts.end(), [&](const auto& other) { return other.first == text; });
      if (known == texts.end()) texts.emplace_back(text, r.program);
      else known->second += ", " + r.program;
    }
    std::vector<std::string> result;
    for (const auto& [text, programs] : texts)
      result.push_back(job_.programs.size() > 1 ? fmt::format("{} in {}", text, programs) : text);
    return result;
  }

  /// Measured time of block operations over what the model says of them.
  double scale() const {
    double measured = 0;
    for (const JobProgram& p : job_.programs)
      for (const KernelLine& k : p.run.kernels) measured += k.seconds;
    return measured > 0 && result_.model_seconds > 0 ? measured / result_.model_seconds : 1;
  }

  void reason() {
    if (!line_) return;
    result_.reason = deed_of_line(*program_, *line_);
    const bool advised = std::any_of(result_.advice.begin(), result_.advice.end(), [&](const Advice& a) {
      return std::find(a.lines.begin(), a.lines.end(), result_.costliest) != a.lines.end();
    });
    if (advised) return;
    const auto known = reasons_.find({line_->file, line_->line});
    const std::string why = known == reasons_.end() ? missed_there() : known->second;
    result_.reason += "; no change of it is known that would pay" + (why.empty() ? "" : ": " + why);
  }

  /// The missed remark about the costliest line.
  std::string missed_there() const {
    if (!program_->module) return {};
    for (const RemarkRow& remark : program_->module->remarks)
      if (remark.kind == RemarkKind::missed && remark.place.line == line_->line &&
          program_->module->files[static_cast<std::size_t>(remark.place.file)] == line_->file)
        return remark.text;
    return {};
  }

  void opening() {
    if (!line_ || job_.seconds <= 0) {
      result_.opening = "the run measured no time in any line.";
      return;
    }
    result_.opening = fmt::format(
        "{} of the job's time is spent at line {} of `{}` (program {}, {} of the job), which {}.",
        percent(result_.costliest_share), line_->line, line_->file.substr(line_->file.find_last_of('/') + 1),
        program_->name, percent(part(program_->seconds)), result_.reason);
    if (result_.advice.empty()) {
      result_.opening +=
          fmt::format(" Nothing that is known here would make the job {} faster or more.", percent(min_gain));
      return;
    }
    const Advice& best = result_.advice.front();
    result_.opening += fmt::format(
        " What pays most{}: {}; {}. Predicted gain: {}, {} of the job.",
        best.at == result_.costliest
            ? ""
            : fmt::format(" is at {} (program {})", short_place(best.at.file, best.at.line), best.at.program),
        best.brief.empty() ? best.change : best.brief, best.found, seconds_number(best.seconds),
        percent(part(best.seconds)));
  }

  const Job& job_;
  const OrderCosts& costs_;
  const Recompile& recompile_;
  JobAdvice result_;
  const JobProgram* program_ = nullptr;  // of the costliest line
  const CostLine* line_ = nullptr;
  std::map<std::pair<std::string, int>, std::string> reasons_;  // why a line can do with no change, by file and line
};

}  // namespace

std::string percent(double part) { return fmt::format("{:.{}f} %", 100 * part, part >= 0.1 || part == 0 ? 0 : 1); }

JobAdvice advise(const Job& job, const OrderCosts& costs, const Recompile& recompile) {
  return Adviser(job, costs, recompile).run();
}

}  // namespace sial::report
