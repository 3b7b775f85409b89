// Remarks: their amounts as text and numbers, what weighs most, and which of them are wanted.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "compiler/report/advice/advice.h"
#include "compiler/report/lines.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"

namespace sial::report {
namespace {

/// Without a run remarks are ranked as if every range had ten segments of twenty elements.
constexpr IndexSize typical{10, 20};

/// Moving a byte takes about as long as ten floating point operations.
double weigh(const RemarkLine& r, const std::vector<IndexSize>& sizes) {
  return evaluate(r.all_bytes.cost, sizes) + 0.1 * evaluate(r.all_flops.cost, sizes);
}

void set_value(Amount& a, const std::vector<IndexSize>& sizes, int ranks) {
  if (!a.cost.is_zero() || !a.each_rank.is_zero())
    a.value = evaluate(a.cost, sizes) + ranks * evaluate(a.each_rank, sizes);
}

std::string number(double value, const std::initializer_list<std::pair<double, const char*>>& units) {
  for (const auto& [size, unit] : units)
    if (std::abs(value) >= size * 0.9995 || size == units.begin()[units.size() - 1].first) {
      const double v = value / size;
      return fmt::format("{:.{}f} {}", v,
                         std::abs(v) >= 99.95 || v == std::floor(v) ? 0
                         : std::abs(v) >= 9.995                     ? 1
                                                                    : 2,
                         unit);
    }
  return {};
}

}  // namespace

std::string bytes_number(double b) {
  return number(b, {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}});
}
std::string flops_number(double f) {
  return number(f, {{1e15, "Pflop"}, {1e12, "Tflop"}, {1e9, "Gflop"}, {1e6, "Mflop"}, {1e3, "kflop"}, {1, "flop"}});
}
std::string seconds_number(double s) { return number(s, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}); }
std::string count_number(double n) {
  return n == std::floor(n) && n < 1e15 ? fmt::format("{:.0f}", n) : fmt::format("{:.1f}", n);
}

std::string kind_text(RemarkKind kind) {
  return kind == RemarkKind::passed ? "passed" : kind == RemarkKind::missed ? "missed" : "analysis";
}

Amount amount_of(const Cost& cost, const std::vector<IndexRow>& indices) {
  return {cost, {}, cost.is_zero() ? "" : cost_text(cost, indices), {}};
}

void add_remarks(Report& report, const Module& m) {
  for (const RemarkRow& row : m.remarks) {
    RemarkLine r;
    r.kind = row.kind;
    r.pass = row.pass;
    r.name = row.name;
    r.text = row.text;
    r.advice = row.advice;
    r.place = row.place;
    if (row.array != no_array) r.array = m.arrays[row.array.at()].name;
    r.part = part_at(m, row.place);
    // A pass that cannot tell how often says nothing: then the cost of one execution is all that is known.
    const Cost often = row.executions.is_zero() ? Cost::constant(1) : row.executions;
    r.bytes = amount_of(row.bytes, m.indices);
    r.flops = amount_of(row.flops, m.indices);
    r.executions = amount_of(row.executions, m.indices);
    r.all_bytes = amount_of(row.bytes * often, m.indices);
    r.all_flops = amount_of(row.flops * often, m.indices);
    report.remarks.push_back(std::move(r));
  }
  sort_remarks(report, std::vector<IndexSize>(m.indices.size(), typical));
}

void sort_remarks(Report& report, const std::vector<IndexSize>& sizes) {
  for (RemarkLine& r : report.remarks) r.weight = weigh(r, sizes);
  // What was missed comes first, where a run was measured by the time of its line.
  const auto rank = [](const RemarkLine& r) {
    return std::tuple(r.kind == RemarkKind::missed, r.seconds.value_or(0), r.weight);
  };
  std::stable_sort(report.remarks.begin(), report.remarks.end(),
                   [&](const RemarkLine& a, const RemarkLine& b) { return rank(a) > rank(b); });
  place_remarks(report);
}

/// Sets the time that the lines of remarks took in the run.
static void set_seconds(Report& report, const Run& run) {
  std::map<std::pair<std::string, int>, double> seconds;
  for (const CostLine& line : run.lines) seconds[{line.file, line.line}] += line.seconds;
  const auto at = [&](int file, int line) {
    const auto found = seconds.find({report.files[static_cast<std::size_t>(file)], line});
    return found == seconds.end() ? 0.0 : found->second;
  };
  for (RemarkLine& r : report.remarks) r.seconds = at(r.place.file, r.place.line);
  for (SourceLine& l : report.lines) l.seconds = at(l.file, l.line);
}

void place_remarks(Report& report) {
  for (SourceLine& l : report.lines) {
    l.remarks.clear();
    l.weight = 0;
  }
  for (std::size_t i = 0; i < report.remarks.size(); ++i) {
    const RemarkLine& r = report.remarks[i];
    const auto at =
        std::lower_bound(report.lines.begin(), report.lines.end(), std::pair(r.place.file, r.place.line),
                         [](const SourceLine& l, const auto& key) { return std::pair(l.file, l.line) < key; });
    SourceLine* line = nullptr;
    if (at != report.lines.end() && at->file == r.place.file && at->line == r.place.line) {
      line = &*at;
    } else {
      line = &*report.lines.insert(at, SourceLine{});
      line->file = r.place.file;
      line->line = r.place.line;
    }
    line->remarks.push_back(i);
    if (r.kind == RemarkKind::missed) line->weight = std::max(line->weight, r.weight);
  }
}

/// Adds a remark that only the run can give: blocks were too large to be fetched ahead in its memory.
static void add_too_large(Report& report, const AccessLine& a) {
  if (a.too_large == 0) return;
  const auto file = std::find(report.files.begin(), report.files.end(), a.file);
  if (file == report.files.end()) return;
  const auto times = static_cast<double>(a.too_large), bytes = static_cast<double>(a.too_large_bytes);
  constexpr double kib = 1 << 10;
  const double enough = std::ceil(static_cast<double>(a.enough_memory) / kib);
  RemarkLine r;
  r.kind = RemarkKind::missed;
  r.pass = "look-ahead";
  r.name = "too-large";
  r.array = a.array;
  r.place.file = static_cast<int>(file - report.files.begin());
  r.place.line = a.line;
  for (const RemarkLine& other : report.remarks)
    if (other.place.file == r.place.file && other.place.line == r.place.line) r.part = other.part;
  r.text = fmt::format(
      "blocks of `{}` ({}) were not fetched ahead in this run: one would take more than a quarter of the memory for fetched copies",
      a.array, bytes_number(bytes));
  r.advice =
      fmt::format("run with --memory {} or more per rank, or with smaller segments",
                  enough < 1e4 ? fmt::format("{:.0f}KiB", enough) : fmt::format("{:.0f}MiB", std::ceil(enough / kib)));
  r.bytes = {Cost::constant(bytes), {}, fmt::format("{:.0f}", bytes), bytes};
  r.executions = {Cost::constant(times), {}, fmt::format("{:.0f}", times), times};
  r.all_bytes = {Cost::constant(bytes * times), {}, fmt::format("{:.0f}", bytes * times), bytes * times};
  report.remarks.push_back(std::move(r));
}

/// Adds a remark that only the run can give: the order of a pardo's iterations where memory was short.
static void add_pardo_order(Report& report, const PardoOrderLine& o) {
  const auto file = std::find(report.files.begin(), report.files.end(), o.file);
  if (file == report.files.end()) return;
  RemarkLine r;
  const bool written = o.bytes >= o.bytes_as_written;
  r.kind = !o.refusal.empty() ? RemarkKind::missed : written ? RemarkKind::analysis : RemarkKind::passed;
  r.pass = "pardo-order";
  r.name = !o.refusal.empty() ? "order-fixed" : written ? "order-as-written" : "order-chosen";
  r.place.file = static_cast<int>(file - report.files.begin());
  r.place.line = o.line;
  for (const RemarkLine& other : report.remarks)
    if (other.place.file == r.place.file && other.place.line == r.place.line) r.part = other.part;
  const std::string unoptimized = fmt::format("{} per node and execution", bytes_number(o.bytes_as_written));
  if (written) {
    r.text = fmt::format("memory is short, and no order of the iterations moves less than the one as written: {}",
                         unoptimized);
  } else if (o.refusal.empty()) {
    r.text = fmt::format("memory is short: iterations run with {}, which moves {} in place of {}", o.order,
                         bytes_number(o.bytes), unoptimized);
  } else {
    r.text = fmt::format("memory is short, and iterations run as written: {}. With {} {} would move in place of {}",
                         o.refusal, o.order, bytes_number(o.bytes), unoptimized);
    r.advice = "write the pardo's indices in that order, the fastest first, or take away what fixes the order";
  }
  const double saved = o.bytes_as_written - o.bytes;
  r.bytes = r.all_bytes = {Cost::constant(saved), {}, fmt::format("{:.0f}", saved), saved};
  report.remarks.push_back(std::move(r));
}

void check_same_sources(const Run& run, const std::string& program, const std::string& source_hash) {
  if (!run.source_hash.empty() && run.source_hash != source_hash)
    throw SialError(
        fmt::format("`{}` is a run of another version of program `{}`: its sources were {}, this module's are {}",
                    run.path, program, run.source_hash.substr(0, 16), source_hash.substr(0, 16)),
        "run the program again, or give the module that was run");
}

namespace {

/// Contractions that run below half of the speed of the program's fastest one, and what might help.
void mark_slow(const Report& report, Run& run) {
  const auto speed = [](const KernelLine& k) { return k.flops > 0 && k.seconds > 0 ? k.flops / k.seconds : 0.0; };
  double best = 0;
  for (const KernelLine& k : run.kernels) best = std::max(best, speed(k));
  for (KernelLine& k : run.kernels) {
    k.slow = speed(k) > 0 && speed(k) < best / 2;
    if (!k.slow) continue;
    if (!layout_advice(report.layouts, report.files, k.file, k.line).empty()) {
      k.advice =
          "the orders of its operands' indices are not those of a matrix product: `sialreport run.json` says whether another declaration pays over all uses";
      continue;
    }
    const auto here = std::find_if(report.layouts.begin(), report.layouts.end(), [&](const ContractionLayout& l) {
      return l.place.line == k.line && report.files.at(static_cast<std::size_t>(l.place.file)) == k.file;
    });
    if (here != report.layouts.end() && here->form != "matrix product")
      k.advice = fmt::format(
          "as {} {} it is bound by memory, whatever the order of indices: join it with a contraction that uses the block while it is near",
          here->form.find_first_of("aeiou") == 0 ? "an" : "a", here->form);
    else k.advice = "no order of indices stands in the way: larger segments give longer rows, columns and sums";
  }
}

}  // namespace

void bind(Report& report, Run run) {
  check_same_sources(run, report.program, report.source_hash);
  std::vector<IndexSize> sizes;
  for (const IndexLine& i : report.indices) {
    const auto found = run.sizes.find(i.name);
    if (found == run.sizes.end())
      throw SialError(
          fmt::format("`{}` does not say how large index `{}` of program `{}` was", run.path, i.name, report.program),
          "give the run.json of a run of this module");
    sizes.push_back(found->second);
  }
  for (RemarkLine& r : report.remarks)
    for (Amount* a : {&r.bytes, &r.flops, &r.executions, &r.all_bytes, &r.all_flops}) set_value(*a, sizes, run.ranks);
  for (SourceLine& l : report.lines)
    for (Amount* a : {&l.executions, &l.flops, &l.get_bytes, &l.put_bytes}) set_value(*a, sizes, run.ranks);
  for (const AccessLine& a : run.accesses) add_too_large(report, a);
  for (RemarkLine& r : report.remarks)  // what fits into memory costs nothing
    if (r.pass == "block-reuse" && !run.tier_movement()) r.kind = RemarkKind::analysis;
  for (const PardoOrderLine& o : run.pardo_orders) add_pardo_order(report, o);
  mark_slow(report, run);
  set_seconds(report, run);
  report.run = std::move(run);
  sort_remarks(report, sizes);
}

namespace {

/// The finding about the orders of the arrays at a line.
std::string verdict_at(const JobAdvice& job, const std::string& program, const std::string& file, int line) {
  if (!job.undecided.empty()) return job.undecided.front();
  for (const Advice& a : job.advice)
    if (a.kind == "declaration" &&
        std::find(a.lines.begin(), a.lines.end(), LineOfProgram{program, file, line}) != a.lines.end())
      return fmt::format("{} (predicted gain over all uses: {})", a.change, seconds_number(a.seconds));
  return "nothing: over all uses of the arrays no other declaration pays";
}

}  // namespace

void set_job(Report& report, std::shared_ptr<const JobAdvice> job) {
  report.job = std::move(job);
  for (RemarkLine& r : report.remarks)
    if (r.name == "copy-permutes")
      r.advice =
          verdict_at(*report.job, report.program, report.files[static_cast<std::size_t>(r.place.file)], r.place.line);
  if (!report.run) return;
  for (KernelLine& k : report.run->kernels)
    if (k.slow && !layout_advice(report.layouts, report.files, k.file, k.line).empty())
      k.advice = verdict_at(*report.job, report.program, k.file, k.line);
}

void set_lines(Filter& filter, const std::string& text) {
  std::string range = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    filter.file = text.substr(0, colon);
    range = text.substr(colon + 1);
  }
  const auto line = [&](const std::string& digits) {
    const auto number = read_integer(digits, 1, 999'999'999);
    if (!number)
      throw SialError(fmt::format("`{}` is not a line or a range of lines", text),
                      "write `--line 12`, `--line 12-20` or `--line prog.sialx:12-20`");
    return static_cast<int>(*number);
  };
  const std::size_t dash = range.find('-');
  filter.first_line = line(range.substr(0, dash));
  filter.last_line = dash == std::string::npos ? filter.first_line : line(range.substr(dash + 1));
  if (filter.last_line < filter.first_line)
    throw SialError(fmt::format("`{}` ends before it begins", text), "write the smaller line first: `--line 12-20`");
}

void apply(Report& report, const Filter& filter) {
  if (!filter.array.empty() && std::none_of(report.arrays.begin(), report.arrays.end(),
                                            [&](const ArrayLine& a) { return a.name == filter.array; })) {
    std::vector<std::string> names;
    for (const ArrayLine& a : report.arrays) names.push_back(a.name);
    throw SialError(fmt::format("program `{}` has no array `{}`", report.program, filter.array),
                    names.empty() ? "it has no arrays" : fmt::format("its arrays: {}", fmt::join(names, ", ")));
  }
  if (!filter.pass.empty()) {
    std::set<std::string> passes;
    for (const RemarkLine& r : report.remarks) passes.insert(r.pass);
    if (!passes.contains(filter.pass))
      throw SialError(fmt::format("no remark of program `{}` comes from a pass `{}`", report.program, filter.pass),
                      passes.empty() ? "the module has no remarks: it was compiled with -O0"
                                     : fmt::format("passes with remarks: {}", fmt::join(passes, ", ")));
  }
  const auto last_name = [](const std::string& path) { return path.substr(path.find_last_of('/') + 1); };
  if (!filter.file.empty() && std::none_of(report.files.begin(), report.files.end(), [&](const std::string& f) {
        return f == filter.file || last_name(f) == filter.file;
      }))
    throw SialError(fmt::format("program `{}` has no source file `{}`", report.program, filter.file),
                    fmt::format("its files: {}", fmt::join(report.files, ", ")));
  std::erase_if(report.remarks, [&](const RemarkLine& r) {
    const std::string& file = report.files[static_cast<std::size_t>(r.place.file)];
    return (!filter.only.empty() && kind_text(r.kind) != filter.only) ||
           (!filter.array.empty() && r.array != filter.array) || (!filter.pass.empty() && r.pass != filter.pass) ||
           (filter.first_line > 0 && (r.place.line < filter.first_line || r.place.line > filter.last_line)) ||
           (!filter.file.empty() && file != filter.file && last_name(file) != filter.file);
  });
  place_remarks(report);
}

}  // namespace sial::report
