#include "compiler/analysis/print.h"

#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "compiler/analysis/access.h"
#include "compiler/analysis/lifetime.h"
#include "compiler/analysis/phases.h"
#include "compiler/analysis/ranges.h"
#include "compiler/analysis/work.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::analysis {
namespace {

/// Lines with the source place after them, as in the listing of the IR.
class Lines {
 public:
  explicit Lines(const ir::Program& p) : p_(p) {}
  void add(int depth, const std::string& text) {
    fmt::format_to(std::back_inserter(out_), "{:{}}{}\n", "", 2 * depth, text);
  }
  void add(int depth, const std::string& text, const SourcePlace& place) {
    fmt::format_to(std::back_inserter(out_), "{:<58} # {}\n",
                   std::string(2 * static_cast<std::size_t>(depth), ' ') + text, at(place));
  }
  std::string at(const SourcePlace& place) const {
    return place.file == 0 ? fmt::format("{}:{}", place.line, place.column)
                           : fmt::format("file {} {}:{}", place.file, place.line, place.column);
  }
  std::string& text() { return out_; }
  const ir::Program& p_;

 private:
  std::string out_;
};

std::string join(const std::vector<std::string>& words, const char* separator = ", ") {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string names(const ir::Program& p, const std::vector<IndexId>& indices) {
  std::string text;
  for (const IndexId i : indices) text += (text.empty() ? "" : ",") + p.indices[i.at()].name;
  return text;
}

std::string loop_name(const ir::Program& p, const ir::Loop& l) {
  static constexpr const char* kind[] = {"do ", "sub ", "pardo "};
  return kind[static_cast<int>(l.kind)] + names(p, l.indices);
}

std::string header(const ir::Program& p, std::int32_t proc) {
  return proc < 0 ? "main" : "proc " + p.procs[static_cast<std::size_t>(proc)].name;
}

/// Calls f(procedure row, body) for all bodies, main last.
template <class F>
void for_each_proc(const ir::Program& p, const F& f) {
  for (std::size_t q = 0; q < p.procs.size(); ++q) f(static_cast<std::int32_t>(q), p.procs[q].body);
  f(-1, p.main);
}

std::string touch_text(const ir::Program& p, const ArrayTouch& t) {
  std::vector<std::string> sides, words;
  const auto word = [&](bool is, const char* text) {
    if (is) words.emplace_back(text);
  };
  word(t.home.read, "fetched");
  word(t.home.replaced, "replaced");
  word(t.home.accumulated, "accumulated");
  if (!words.empty()) sides.push_back(join(words));
  words.clear();
  word(t.own.read, "read");
  word(t.own.replaced, "replaced");
  word(t.own.accumulated, "updated");
  word(t.own.freed, "freed");
  if (!words.empty()) sides.push_back((is_remote_array(p, t.array) ? "own copy " : "") + join(words));
  return sides.empty() ? "" : fmt::format("{}: {}", array_name(p, t.array), join(sides, "; "));
}

void touches(Lines& out, int depth, const std::vector<ArrayTouch>& list) {
  for (const ArrayTouch& t : list)
    if (const std::string text = touch_text(out.p_, t); !text.empty()) out.add(depth, text);
}

/// Loops of a body with what each does, nested; operands of the statements in between.
void intent_body(Lines& out, Summaries& summaries, const Lifetimes& lifetimes, const ir::Body& body, int depth) {
  for (const ir::Node& n : body) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      std::vector<std::string> words;
      for (const ArrayUse& u : array_uses(out.p_, *i)) {
        if (op_class(i->op) == OpClass::fetch && u.side == Side::own) continue;
        std::string text =
            text_of(out.p_, u) + " " +
            std::string(u.side == Side::home && u.intent == Intent::read ? "fetch" : intent_text(u.intent));
        if (u.side == Side::own && lifetimes.dead_after(n.id, u.operand))
          text += u.reads() ? " (last use)" : " (never used)";
        words.push_back(std::move(text));
      }
      if (!words.empty()) out.add(depth, fmt::format("{} {}", opcode_info(i->op)->name, join(words)), n.place);
    } else if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      out.add(depth, loop_name(out.p_, *l), n.place);
      for (const ArrayTouch& t : summaries.of_node(n).arrays)
        if (const std::string text = touch_text(out.p_, t); !text.empty()) out.add(depth + 1, "| " + text);
      intent_body(out, summaries, lifetimes, l->body, depth + 1);
    } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
      intent_body(out, summaries, lifetimes, b->then_body, depth);
      intent_body(out, summaries, lifetimes, b->else_body, depth);
    } else {
      intent_body(out, summaries, lifetimes, std::get<ir::Section>(n.value).body, depth);
    }
  }
}

std::string count_text(const ir::Program& p, const Executions& e) {
  std::string text = (e.exact ? "" : "at most ") + sial::cost_text(e.most, p.indices);
  if (!e.exact && e.fraction < 1.0) text += fmt::format(" (about {:.3g} %)", 100 * e.fraction);
  return text;
}

std::string number(double x) { return fmt::format("{:.15g}", x); }

}  // namespace

std::string intent_text(const ir::Program& program) {
  Lines out(program);
  const Phases phases(program);
  const Lifetimes lifetimes(program);
  Summaries summaries(program);
  for_each_proc(program, [&](std::int32_t proc, const ir::Body& body) {
    if (!out.text().empty()) out.add(0, "");
    out.add(0, header(program, proc));
    for (std::size_t id = 0; id < phases.count(); ++id) {
      const auto phase = static_cast<PhaseId>(id);
      if (phases.proc_of(phase) != proc || (phases.all_touches(phase).empty() && phases.count() > 1)) continue;
      std::vector<std::string> from;
      if (phases.entry(proc) == phase) from.emplace_back(proc < 0 ? "the start" : "the call");
      for (const ir::Node* n : phases.begins(phase)) from.push_back(out.at(n->place));
      out.add(1, "phase from " + join(from));
      touches(out, 2, phases.all_touches(phase));
    }
    intent_body(out, summaries, lifetimes, body, 1);
  });
  return std::move(out.text());
}

std::string ranges_text(const ir::Program& program, const std::optional<Job>& job) {
  Lines out(program);
  const Ranges ranges(program);
  std::optional<JobCounts> counts;
  if (job) counts = count_job(program, *job);
  std::int32_t shown = -2;
  visit(program, [&](const ir::Node& n, const Path& path) {
    if (shown != path.proc) {
      if (shown != -2) out.add(0, "");
      shown = path.proc;
      out.add(0, header(program, shown) +
                     (shown < 0 ? "" : fmt::format(": {} calls", count_text(program, ranges.of_proc(shown)))));
    }
    const auto* l = std::get_if<ir::Loop>(&n.value);
    if (l == nullptr) return;
    int depth = 1;
    for (const ir::Node* e : path.enclosing) depth += std::holds_alternative<ir::Loop>(e->value);
    const LoopRange& r = ranges.loop(n.id);
    std::string text = fmt::format("{}: {} iterations", loop_name(program, *l), count_text(program, r.body));
    if (!l->wheres.empty())
      text += fmt::format(" of {} tuples", sial::cost_text(ranges.of(n.id).most * r.space, program.indices));
    if (l->kind == LoopKind::pardo && l->indices.size() > 1)
      text += fmt::format(", {} fastest", names(program, {l->indices[0]}));
    if (r.may_exit) text += ", may be left early";
    if (counts)
      text += fmt::format("; {}{}", counts->nodes[static_cast<std::size_t>(n.id)].exact ? "" : "at most ",
                          number(counts->iterations[static_cast<std::size_t>(n.id)]));
    out.add(depth, text, n.place);
  });
  if (counts)
    out.add(0,
            fmt::format("\npardo iterations {}{}", counts->exact ? "" : "at most ", number(counts->pardo_iterations)));
  return std::move(out.text());
}

std::string access_text(const ir::Program& program) {
  Lines out(program);
  for (const Access& a : accesses(program)) {
    std::string text = "get " + text_of(program, *a.block) + ": ";
    if (a.changes_at >= 0) {
      const auto& loop = std::get<ir::Loop>(a.loops[static_cast<std::size_t>(a.changes_at)]->value);
      text +=
          fmt::format("changes with {} ({} of {} loops), dimension {}, stride {}", loop_name(program, loop),
                      a.changes_at + 1, a.loops.size(), a.dimension + 1, sial::cost_text(a.stride, program.indices));
    } else {
      text += a.from_callers.empty() ? "always the same block" : "the same block in every loop of the procedure";
    }
    if (!a.from_callers.empty()) text += fmt::format(", {} from callers", names(program, a.from_callers));
    text += fmt::format("; {} blocks", sial::cost_text(a.distinct, program.indices));
    if (const int inner = static_cast<int>(a.loops.size()) - 1 - a.changes_at; inner > 0)
      text += fmt::format(", each {} times in a row", sial::cost_text(a.repeats, program.indices));
    out.add(0, text, a.place);
  }
  return std::move(out.text());
}

std::string cost_text(const ir::Program& program, const std::optional<Job>& job) {
  Lines out(program);
  const Ranges ranges(program);
  std::optional<JobCounts> counts;
  if (job) counts = count_job(program, *job);
  std::int32_t shown = -2;
  visit(program, [&](const ir::Node& n, const Path& path) {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr) return;
    const Work work = work_of(program, *i);
    if (work.bytes.is_zero() && work.flops.is_zero()) return;
    if (shown != path.proc) {
      if (shown != -2) out.add(0, "");
      shown = path.proc;
      out.add(0, header(program, shown));
    }
    std::vector<std::string> words;
    for (const ir::Block* b : blocks_of(*i)) words.push_back(text_of(program, *b));
    std::string text =
        fmt::format("{} {}: {} times", opcode_info(i->op)->name, join(words), count_text(program, ranges.of(n.id)));
    if (!work.flops.is_zero()) text += fmt::format(", flops {}", sial::cost_text(work.flops, program.indices));
    text += fmt::format(", bytes {}", sial::cost_text(work.bytes, program.indices));
    if (counts) {
      const NodeCount& c = counts->nodes[static_cast<std::size_t>(n.id)];
      text += fmt::format("; {}{} times, flops {}, bytes {}", c.exact ? "" : "at most ", number(c.executions),
                          number(c.flops), number(c.bytes));
    }
    out.add(1, text, n.place);
  });
  if (counts) {
    out.add(0, "");
    out.add(0, counts->exact ? "exact" : "upper bounds: data decide about some of it");
    for (const auto& [name, value] : {std::pair("flops", counts->flops),
                                      {"bytes", counts->bytes},
                                      {"bytes of gets and puts", counts->moved},
                                      {"iterations", counts->pardo_iterations},
                                      {"gets", counts->gets},
                                      {"puts", counts->puts},
                                      {"accumulates", counts->accumulates},
                                      {"scalar_puts", counts->scalar_puts},
                                      {"block_operations", counts->block_operations},
                                      {"super_instructions", counts->super_instructions}})
      out.add(0, fmt::format("{} {}", name, number(value)));
  }
  return std::move(out.text());
}

std::string facts_text(const ir::Program& program, std::string_view kind, const std::optional<Job>& job) {
  if (kind == "intent") return intent_text(program);
  if (kind == "ranges") return ranges_text(program, job);
  if (kind == "access") return access_text(program);
  SIAL_CHECK(kind == "cost", "facts of kind {}", kind);
  return cost_text(program, job);
}

Job job_of(const std::vector<std::string>& values, const std::vector<std::string>& segments) {
  Job job;
  const auto integer_of = [](std::string_view text, const std::string& word) {
    const std::optional<std::int64_t> value =
        read_integer(text, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    if (!value) throw SialError(fmt::format("`{}` in `{}` is not a 32-bit integer", text, word));
    return static_cast<std::int32_t>(*value);
  };
  for (const std::string& word : values) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw SialError(fmt::format("`{}` is not of the form name=number", word));
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    const std::optional<double> real = read_real(value);
    if (!real) throw SialError(fmt::format("`{}` is not of the form name=number", word));
    if (value.find_first_of(".eEdD") == std::string::npos) job.ints[name] = integer_of(value, word);
    job.scalars[name] = *real;
  }
  for (const std::string& word : segments) {
    const std::size_t equals = word.find('=');
    const auto kind = std::ranges::find(segment_kinds, word.substr(0, std::min(equals, word.size())),
                                        &std::pair<const char*, IndexKind>::first);
    if (equals == std::string::npos || kind == std::end(segment_kinds))
      throw SialError(fmt::format("`{}` is not of the form kind=extent,extent,...", word),
                      "kinds are ao, mo, moa, mob and la");
    std::vector<std::int32_t>& extents = job.segments[kind->second];
    for (std::size_t at = equals + 1; at <= word.size();) {
      const std::size_t comma = std::min(word.find(',', at), word.size());
      extents.push_back(integer_of(word.substr(at, comma - at), word));
      at = comma + 1;
    }
  }
  return job;
}

}  // namespace sial::analysis
