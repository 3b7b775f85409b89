// The advice for a job as text and as JSON: the sentences that open a report, what pays, and the shares of the
// programs.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/report/advice/advice.h"
#include "compiler/report/formats/advice_print.h"
#include "compiler/report/writer.h"
#include "runtime/core/base/json.h"

namespace sial::report {
namespace {

constexpr std::size_t width = 118, max_listed = 8;

class AdviceText : Writer {
 public:
  std::string text(const JobAdvice& a, const std::string& program) {
    wrapped(a.opening, "");
    if (!a.advice.empty())
      line("\nwhat pays, the largest gain first, predicted from this run (of {}, a mean rank)",
           seconds_number(a.seconds));
    for (std::size_t i = 0; i < std::min(max_listed, a.advice.size()); ++i) {
      const Advice& item = a.advice[i];
      line("  {}. {}, {} of the job: {} at {}{}", i + 1, seconds_number(item.seconds),
           percent(a.seconds > 0 ? item.seconds / a.seconds : 0), item.kind, short_place(item.at.file, item.at.line),
           item.at.program == program ? "" : fmt::format(" (program {})", item.at.program));
      wrapped("found: " + item.found +
                  (item.bytes > 0 ? fmt::format(" ({} are put into another order)", bytes_number(item.bytes)) : ""),
              "     ");
      wrapped("to change: " + item.change, "     ");
    }
    if (a.advice.size() > max_listed) line("  ... and {} more, in the JSON form", a.advice.size() - max_listed);
    for (const std::string& text : a.undecided) wrapped("note: " + text, "  ");
    if (a.programs.size() > 1 || (!a.programs.empty() && a.programs[0].predicted > 0)) {
      line("\nprograms of the job");
      for (const ProgramShare& p : a.programs)
        line("  {} {:<16} {:>10} {:>7}{}{}", p.program == program ? "*" : " ", p.program, seconds_number(p.seconds),
             percent(p.share),
             p.predicted > 0 ? fmt::format("  predicted before the run: {}", seconds_number(p.predicted)) : "",
             p.problem.empty() ? "" : "  " + p.problem);
    }
    line("");
    return take();
  }

 private:
  void wrapped(std::string text, const std::string& indent) {
    while (indent.size() + text.size() > width) {
      const std::size_t blank = text.rfind(' ', width - indent.size());
      if (blank == std::string::npos) break;
      line("{}{}", indent, text.substr(0, blank));
      text = text.substr(blank + 1);
    }
    line("{}{}", indent, text);
  }
};

}  // namespace

std::string advice_text(const JobAdvice& advice, const std::string& program) {
  return AdviceText().text(advice, program);
}

Json advice_json(const JobAdvice& a) {
  const auto place = [](const LineOfProgram& l) {
    return Json{{"program", l.program}, {"file", l.file}, {"line", l.line}};
  };
  Json items = Json::array(), programs = Json::array();
  for (const Advice& item : a.advice) {
    Json lines = Json::array(), changes = Json::array();
    for (const LineOfProgram& l : item.lines) lines.push_back(place(l));
    for (const Redeclaration& r : item.redeclarations)
      changes.push_back({{"program", r.program},
                         {"array", r.array},
                         {"from", r.from},
                         {"to", r.to},
                         {"order", r.order},
                         {"label", r.label}});
    items.push_back({{"kind", item.kind},
                     {"at", place(item.at)},
                     {"found", item.found},
                     {"change", item.change},
                     {"seconds", item.seconds},
                     {"bytes", item.bytes},
                     {"lines", std::move(lines)},
                     {"redeclarations", std::move(changes)}});
  }
  for (const ProgramShare& p : a.programs)
    programs.push_back({{"program", p.program},
                        {"seconds", p.seconds},
                        {"share", p.share},
                        {"predicted", p.predicted},
                        {"problem", p.problem}});
  return {{"opening", a.opening},
          {"seconds", a.seconds},
          {"model_seconds", a.model_seconds},
          {"costliest",
           {{"at", place(a.costliest)},
            {"seconds", a.costliest_seconds},
            {"share", a.costliest_share},
            {"reason", a.reason}}},
          {"advice", std::move(items)},
          {"programs", std::move(programs)},
          {"undecided", a.undecided}};
}

}  // namespace sial::report
