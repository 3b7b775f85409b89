// The report as text: a summary, the remarks by source line, what the program consists of, and what a run measured.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "compiler/report/formats/advice_print.h"
#include "compiler/report/model.h"
#include "compiler/report/writer.h"

namespace sial::report {
namespace {

constexpr std::size_t longest_list = 20;

class Text : Writer {
 public:
  explicit Text(const Report& r) : r_(r) {}

  std::string text() {
    const std::string opening = r_.job ? advice_text(*r_.job, r_.program) : "";
    line("program {} ({})", r_.program, fmt::join(r_.files, ", "));
    line("  compiled by {} at -O{}, sources {}", r_.producer, r_.optimisation, r_.source_hash.substr(0, 16));
    const auto pardos =
        std::count_if(r_.loops.begin(), r_.loops.end(), [](const LoopLine& l) { return l.kind == "pardo"; });
    line("  {} instructions, {} loops ({} parallel), {} procedures called", r_.instructions, r_.loops.size(), pardos,
         r_.procedures);
    summary();
    remarks(true);
    if (r_.run) run(*r_.run);
    remarks(false);
    expected();
    indices();
    arrays();
    loops();
    mix();
    return opening + take();
  }

 private:
  // --- remarks
  void summary() {
    std::size_t n[3] = {};
    double bytes[3] = {}, flops[3] = {};
    for (const RemarkLine& r : r_.remarks) {
      const auto k = static_cast<int>(r.kind);
      ++n[k];
      bytes[k] += r.all_bytes.value.value_or(0);
      flops[k] += r.all_flops.value.value_or(0);
    }
    if (r_.remarks.empty()) {
      line("  no remarks{}", r_.optimisation == 0 ? ": -O0 changes nothing; compile with -O1 or -O2" : "");
      return;
    }
    line("  remarks: {} passed, {} missed, {} analysis", n[0], n[1], n[2]);
    if (!r_.run) {
      line(
          "  amounts: |i| elements per segment of index i, #i segments in its range; give the run.json of a run to have numbers");
      return;
    }
    line("  estimated for the job of {}: saved {}, lost {}", r_.run->path, amounts(bytes[0], flops[0]),
         amounts(bytes[1], flops[1]));
  }

  static std::string amounts(double bytes, double flops) {
    if (bytes == 0 && flops == 0) return "nothing that can be counted";
    std::string text;
    if (bytes != 0) text = bytes_number(bytes);
    if (flops != 0) text += (text.empty() ? "" : " and ") + flops_number(flops);
    return text;
  }

  /// Remarks that were missed, or all else: the former are those that a reader can act on.
  void remarks(bool missed) {
    const auto wanted = [&](std::size_t i) { return (r_.remarks[i].kind == RemarkKind::missed) == missed; };
    std::vector<const SourceLine*> lines;
    for (const SourceLine& l : r_.lines)
      if (std::any_of(l.remarks.begin(), l.remarks.end(), wanted)) lines.push_back(&l);
    if (lines.empty()) return;
    const auto rank = [&](const SourceLine* l) {
      double weight = 0;
      for (const std::size_t i : l->remarks)
        if (wanted(i)) weight = std::max(weight, r_.remarks[i].weight);
      return std::pair(l->seconds, weight);
    };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const SourceLine* a, const SourceLine* b) { return rank(a) > rank(b); });
    line("\n{}, {} first", missed ? "what could be faster, by line" : "what was made faster and found out, by line",
         r_.run ? "the longest measured" : "the most costly");
    for (const SourceLine* l : lines) {
      const std::string& file = r_.files[static_cast<std::size_t>(l->file)];
      line("\n{}:{}{}", file, l->line, source_text(*l));
      if (const std::string origin = origin_text(file, l->line); !origin.empty()) line("  from     {}", origin);
      if (r_.run && missed) measured(*l);
      for (const RemarkKind kind : {RemarkKind::missed, RemarkKind::passed, RemarkKind::analysis})
        for (const std::size_t i : l->remarks)
          if (r_.remarks[i].kind == kind && wanted(i)) remark(r_.remarks[i]);
    }
  }

  std::string source_text(const SourceLine& l) const {
    return source_text(r_.files[static_cast<std::size_t>(l.file)], l.line);
  }

  std::string source_text(const std::string& file, int number) const {
    const SourceFile* source = source_with(file, number);
    if (!source) return {};
    const std::string& text = source->lines[static_cast<std::size_t>(number) - 1];
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : "    " + text.substr(begin);
  }

  std::string origin_text(const std::string& file, int number) const {
    const SourceFile* source = source_with(file, number);
    return source ? source->origins[static_cast<std::size_t>(number) - 1] : std::string();
  }

  const SourceFile* source_with(const std::string& file, int number) const {
    for (const SourceFile& source : r_.sources)
      if (source.name == file && !source.changed && number >= 1 &&
          static_cast<std::size_t>(number) <= source.lines.size())
        return &source;
    return nullptr;
  }

  void remark(const RemarkLine& r) {
    line("  {:<8} {}{} [{}/{}]", kind_text(r.kind), r.array.empty() ? "" : r.array + ": ", r.text, r.pass, r.name);
    if (const std::string amount = amount_text(r); !amount.empty()) line("           {}", amount);
    if (!r.advice.empty()) line("           to change: {}", r.advice);
  }

  static std::string amount_text(const RemarkLine& r) {
    std::string text;
    const auto one = [&](const Amount& all, const Amount& each, const char* unit, std::string (*number)(double)) {
      if (each.text.empty()) return;
      text += text.empty() ? "" : "; ";
      if (all.value) text += number(*all.value) + " = ";
      text += fmt::format("{} {}", each.text, unit);
    };
    one(r.all_bytes, r.bytes, "bytes", bytes_number);
    one(r.all_flops, r.flops, "flop", flops_number);
    if (!r.executions.text.empty()) {
      const std::string times = r.executions.value
                                    ? fmt::format("{} times ({})", count_number(*r.executions.value), r.executions.text)
                                    : r.executions.text + " times";
      text += text.empty() ? times : ", " + times;
    }
    const char* what = r.kind == RemarkKind::passed ? "saves " : r.kind == RemarkKind::missed ? "costs " : "";
    return text.empty() ? "" : (r.bytes.text.empty() && r.flops.text.empty() ? "" : what) + text;
  }

  const CostLine* cost_of(const SourceLine& l) const {
    for (const CostLine& c : r_.run->lines)
      if (c.line == l.line && c.file == r_.files[static_cast<std::size_t>(l.file)]) return &c;
    return nullptr;
  }

  /// The expected and the measured values of the line.
  void measured(const SourceLine& l) {
    std::string text;
    const auto item = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (const CostLine* c = cost_of(l)) {
      item(
          fmt::format("{} in {}", plural(static_cast<double>(c->executions), "execution"), seconds_number(c->seconds)));
      if (l.executions.value)
        item(fmt::format("predicted {}{}", l.at_most ? "at most " : "", count_number(*l.executions.value)));
    }
    std::int64_t moved = 0, in_place = 0, accesses = 0, blocked = 0;
    double wait = 0;
    for (const AccessLine& a : r_.run->accesses)
      if (a.line == l.line && a.file == r_.files[static_cast<std::size_t>(l.file)]) {
        moved += a.moved;
        in_place += a.in_place;
        accesses += a.accesses;
        blocked += a.blocked;
        wait += a.wait_seconds;
      }
    if (moved + in_place > 0) {
      std::string bytes = fmt::format("{} moved", bytes_number(static_cast<double>(moved)));
      if (in_place > 0) bytes += fmt::format(", {} used in place", bytes_number(static_cast<double>(in_place)));
      item(bytes);
      if (l.get_bytes.value || l.put_bytes.value)
        item(fmt::format("predicted {}{}", l.at_most ? "at most " : "",
                         bytes_number(l.get_bytes.value.value_or(0) + l.put_bytes.value.value_or(0))));
    }
    if (const std::string copies = copies_at(*r_.run, r_.files[static_cast<std::size_t>(l.file)], l.line);
        !copies.empty())
      item(copies);
    if (accesses > 0) item(fmt::format("{} of {} uses waited, {}", blocked, accesses, seconds_number(wait)));
    if (!text.empty()) line("  measured {}", text);
  }

  // --- what the program consists of
  void expected() {
    if (r_.expected_ints.empty() && r_.expected_scalars.empty() && r_.expected_arrays.empty()) return;
    line("\nvalues the job must give");
    if (!r_.expected_ints.empty()) line("  ints     {}", fmt::join(r_.expected_ints, ", "));
    if (!r_.expected_scalars.empty()) line("  scalars  {}", fmt::join(r_.expected_scalars, ", "));
    if (!r_.expected_arrays.empty()) line("  arrays   {}", fmt::join(r_.expected_arrays, ", "));
  }

  void indices() {
    if (r_.indices.empty()) return;
    line("\nindices\n  {:<16} {:<10} {:<20} {:<16} {}", "name", "kind", "range", "segments",
         r_.run ? "in the run" : "");
    for (const IndexLine& i : r_.indices) {
      std::string bound;
      if (r_.run)
        if (const auto size = r_.run->sizes.find(i.name); size != r_.run->sizes.end())
          bound = fmt::format("{} of {:.4g}", count_number(size->second.count), size->second.extent);
      line("  {:<16} {:<10} {:<20} {:<16} {}", i.name, i.kind, i.range, i.segments, bound);
    }
  }

  void arrays() {
    if (r_.arrays.empty()) return;
    line("\narrays: number of statements that use them\n  {:<24} {:<17} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5}  {}",
         "name", "kind", "read", "write", "upd", "get", "put", "put+", "whole", "blocks");
    const auto n = [](int count) { return count == 0 ? std::string("-") : std::to_string(count); };
    std::vector<std::string> unused;
    for (const ArrayLine& a : r_.arrays) {
      if (a.uses.none()) {
        unused.push_back(a.name);
        continue;
      }
      const Uses& u = a.uses;
      line("  {:<24} {:<17} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5}  {}", fmt::format("{}[{}]", a.name, a.dims),
           (a.predefined ? "predef. "
            : a.sparse   ? "sparse "
                         : "") +
               a.kind,
           n(u.read), n(u.written), n(u.updated), n(u.fetched), n(u.put), n(u.accumulated), n(u.whole), a.blocks);
    }
    if (!unused.empty()) line("  never used: {}", fmt::join(unused, ", "));
  }

  void loops() {
    if (r_.loops.empty()) return;
    line("\nloops\n  {:<24} {:<36} {}", "place", "loop", "iterations");
    for (const LoopLine& l : r_.loops) {
      std::string notes = l.trips;
      if (l.wheres > 0) notes += fmt::format(", {} where", l.wheres);
      if (!l.pragma.empty()) notes += fmt::format(", pragma \"{}\"", l.pragma);
      if (l.rank_dependent) notes += ", static schedule";
      if (!l.part.empty() && l.depth == 0) notes += fmt::format(", in {}", l.part);
      line("  {:<24} {:<36} {}", l.place.substr(l.place.find_last_of('/') + 1),
           std::string(2 * static_cast<std::size_t>(l.depth), ' ') + l.kind + " " + l.indices, notes);
    }
  }

  void mix() {
    line("\ninstructions");
    for (const MixLine& m : r_.mix) line("  {:>7} {}", m.count, m.name);
    if (r_.specials.empty()) return;
    line("\nsuper instructions");
    for (const SpecialLine& s : r_.specials) line("  {:>7} {} {}", s.calls, s.name, s.signature);
  }

  // --- the run
  void run(const Run& run) {
    line("\nrun of sialrun {} on {}{}, hit ratio {:.4f}", run.version, plural(run.ranks, "rank"),
         run.nodes > 1 ? fmt::format(" of {} nodes", run.nodes) : "", run.hit_ratio);
    breakdown(run);
    lines(run);
    traffic(run);
    copies(run);
    kernels(run);
    device(run);
    tiers(run);
    waits(run);
    prefetch(run);
    line("\ncounters of the whole job, all programs and ranks");
    for (const CounterLine& c : run.totals)
      if (c.value != 0) line("  {:<26} {:>16.6g}", c.name, c.value);
  }

  void breakdown(const Run& run) {
    const auto parts = breakdown_of(run);
    std::string head = fmt::format("  {:>4} {:>10}", "rank", "wall");
    for (const char* name : breakdown_names) head += fmt::format(" {:>10}", name);
    line("\nwhere the time of each rank went, all programs of the job (s)\n{} {:>10}", head, "sum");
    for (std::size_t r = 0; r < parts.ranks.size(); ++r) {
      const RankTimes& t = parts.ranks[r];
      std::string row = fmt::format("  {:>4} {:>10.4f}", r, t.wall);
      for (const double part : t.part) row += fmt::format(" {:>10.4f}", part);
      line("{} {:>9.1f}%", row, t.wall > 0 ? 100 * t.sum() / t.wall : 100.0);
    }
    if (parts.handler > 0)
      line("  beside it, helper threads answered other nodes for {}", seconds_number(parts.handler));
    line("  load imbalance: the busiest rank computed {:.2f} times the mean", parts.imbalance);
  }

  void lines(const Run& run) {
    if (run.lines.empty()) return;
    line("\nmost expensive lines of this program\n  {:>10} {:>10} {:>10} {:>12} {:>10}  {}", "seconds", "computing",
         "max/mean", "executions", "flop/s", "place");
    for (std::size_t i = 0; i < std::min(longest_list, run.lines.size()); ++i) {
      const CostLine& l = run.lines[i];
      const double mean = l.seconds / run.ranks;
      line("  {:>10.4f} {:>10.4f} {:>10.2f} {:>12} {:>10}  {}:{}{}", l.seconds, l.compute_seconds,
           mean > 0 ? l.slowest_seconds / mean : 1.0, l.executions,
           l.flops > 0 && l.compute_seconds > 0 ? fmt::format("{:.2f} G", l.flops / l.compute_seconds * 1e-9) : "-",
           l.file, l.line, source_text(l.file, l.line));
    }
  }

  void traffic(const Run& run) {
    const auto rows = traffic_of(run);
    if (rows.empty()) return;
    const auto in_bytes = [](std::int64_t n) { return bytes_number(static_cast<double>(n)); };
    const bool far = std::any_of(rows.begin(), rows.end(), [](const Traffic& t) { return t.on_other_nodes > 0; });
    const auto nodes = [&](const std::string& near, const std::string& other) {
      return far ? fmt::format(" {:>14} {:>18}", near, other) : std::string();
    };
    line("\narrays by traffic\n  {:>12} {:>14}{} {:>12}  {}", "moved", "used in place",
         nodes("on own node", "on another node"), "uses", "array");
    for (std::size_t i = 0; i < std::min(longest_list, rows.size()); ++i) {
      const Traffic& t = rows[i];
      line("  {:>12} {:>14}{} {:>12}  {}", in_bytes(t.moved), in_bytes(t.in_place),
           nodes(in_bytes(t.used - t.on_other_nodes), in_bytes(t.on_other_nodes)), t.accesses, t.array);
    }
    if (far) line("  nodes: memory nodes (NUMA) of a machine; `--numa` decides on which of them blocks lie");
  }

  /// The copies that are left, each with the remark that says why.
  void copies(const Run& run) {
    std::int64_t blocks = 0, bytes = 0, spared = 0, spared_bytes = 0;
    for (const CopyLine& c : run.copies)
      blocks += c.copied, bytes += c.bytes_copied, spared += c.elided, spared_bytes += c.bytes_elided;
    if (blocks + spared == 0) return;
    line("\nblock copies of this program: {} ({}), spared {} ({})", blocks, bytes_number(static_cast<double>(bytes)),
         spared, bytes_number(static_cast<double>(spared_bytes)));
    if (blocks == 0) return;
    line("  {:>12} {:>10}  {:<40} {}", "bytes", "copies", "array", "why");
    for (std::size_t i = 0; i < std::min(longest_list, run.copies.size()) && run.copies[i].copied > 0; ++i) {
      const CopyLine& c = run.copies[i];
      line("  {:>12} {:>10}  {:<40} {}", bytes_number(static_cast<double>(c.bytes_copied)), c.copied,
           fmt::format("{} at {}:{}", c.array, c.file, c.line), why_copied(c));
    }
  }

  std::string why_copied(const CopyLine& c) const {
    std::string names;
    for (const RemarkLine& m : r_.remarks)
      if (m.kind == RemarkKind::missed && m.place.line == c.line &&
          r_.files[static_cast<std::size_t>(m.place.file)] == c.file && (m.array.empty() || m.array == c.array) &&
          names.find(m.name) == std::string::npos)
        names += (names.empty() ? "" : ", ") + m.name;
    return !names.empty() ? names : r_.optimisation == 0 ? "as written (-O0)" : "";
  }

  void kernels(const Run& run) {
    if (run.kernels.empty()) return;
    line("\nblock kernels of this program");
    if (run.code) {
      const GeneratedCode& c = *run.code;
      line("  generated code: {}; {} asked for, {} compiled in {}, {} read from disk, {} failed, by the whole job",
           c.state, c.asked, c.compiled, seconds_number(c.compile_seconds), c.from_disk, c.failed);
    }
    line("  {:>10} {:>10} {:>16}  {:<24} {}", "seconds", "calls", "speed", "place", "what they did");
    for (std::size_t i = 0; i < run.kernels.size(); ++i) {
      const KernelLine& k = run.kernels[i];
      if (i >= longest_list && !k.slow) continue;
      const double amount = k.flops > 0 ? k.flops : k.bytes;
      const std::string speed =
          k.seconds > 0 ? fmt::format("{:.2f} {}", amount / k.seconds * 1e-9, k.flops > 0 ? "GFLOP/s" : "GB/s") : "-";
      line("  {:>10.4f} {:>10} {:>16}  {:<24} {}", k.seconds, k.calls, speed, fmt::format("{}:{}", k.file, k.line),
           kernel_text(k));
      if (k.slow) line("  {:>38}  below half of the fastest contraction; {}", "", k.advice);
    }
  }

  /// Transfers of blocks that did not fit into memory.
  void tiers(const Run& run) {
    const std::optional<TierBytes> measured = run.tier_movement();
    if (!measured) return;
    line("\nblocks that did not fit into memory, whole job\n  {:<28} {:>12} {:>12} {:>12}", "", "written", "read",
         "sum");
    const auto row = [&](const char* what, const TierBytes& b) {
      line("  {:<28} {:>12} {:>12} {:>12}", what, bytes_number(b.written), bytes_number(b.read), bytes_number(b.sum()));
    };
    const std::optional<TierPrediction>& predicted = run.predicted_tiers;
    if (predicted) row("predicted by a dry run", predicted->moved);
    row("measured", *measured);
    if (!predicted) return;
    row("offline optimum", predicted->optimum);
    if (const double least = predicted->optimum.sum(); least > 0)
      line("  moved {:.2f} times the offline optimum", measured->sum() / least);
    else line("  with all uses known beforehand nothing would have moved");
  }

  /// Transfers between host and device, and the part of the device's memory in them.
  void device(const Run& run) {
    if (run.counter("device_operations") == 0) return;
    const auto sum = [&](const std::string& way) {
      return run.counter("device_bytes_in" + way) + run.counter("device_bytes_out" + way);
    };
    line("\ndevice: {} of it, blocks moved in the whole job: as written {}, made {}{}",
         plural(run.counter("device_operations"), "operation"), bytes_number(sum("_unoptimized")),
         bytes_number(sum("")),
         sum("_lower_bound") > 0 ? fmt::format(", at least {}", bytes_number(sum("_lower_bound"))) : "");
    if (const std::optional<DeviceSeconds> t = run.device_seconds())
      line("  time{}: {} at kernels, {} at copies to it, {} at copies from it{}; ranks waited {} for it",
           run.option("device") == "simulated" ? ", by the model of a simulated device" : "",
           seconds_number(t->kernels), seconds_number(t->in), seconds_number(t->out),
           t->overlap() ? fmt::format(", {:.1f} % of copying beside kernels", 100.0 * *t->overlap()) : "",
           seconds_number(t->waited));
    else line("  time at kernels and copies: not measured (`--device-times`)");
    if (const double starts = run.counter("device_starts"); starts > 0)
      line(
          "  {} of kernels and products; of small work {} waited, {} of them together with others of their shape, in {}",
          plural(starts, "start"), plural(run.counter("device_waited"), "piece"),
          count_number(run.counter("device_batched")), plural(run.counter("device_batches"), "group"));
    const double requests = run.counter("device_allocations");
    line(
        "  memory: {} in use at most; {} requests, {:.2f} % of them without a call of the driver; {} blocks left for want of room",
        bytes_number(run.counter("device_memory_high_water")), count_number(requests),
        requests > 0 ? 100.0 * run.counter("device_allocation_hits") / requests : 100.0,
        count_number(run.counter("device_evictions")));
    if (const double pinned = run.counter("device_pinned_bytes"); pinned > 0 || run.counter("device_pins_refused") > 0)
      line("  host memory registered with it: {}, refused {}", bytes_number(pinned),
           plural(run.counter("device_pins_refused"), "time"));
    if (const double ahead = run.counter("device_prefetches"); ahead > 0)
      line("  brought before their use: {} ({}), {} of them for nothing", plural(ahead, "block"),
           bytes_number(run.counter("device_bytes_prefetched")),
           count_number(ahead - run.counter("device_prefetches_used")));
    if (const double late = run.counter("device_deferred_puts"); late > 0)
      line("  {} of what only it had left for later, {} of them waited for in the end", plural(late, "put"),
           count_number(run.counter("device_deferred_puts_awaited")));
    if (const double direct = run.counter("device_bytes_sent_direct"),
        pieces = run.counter("device_bytes_sent_pipelined");
        direct + pieces > 0)
      line("  sent to other nodes: {} straight from its memory ({}), {} through the host in overlapped pieces ({})",
           plural(run.counter("device_sent_direct"), "block"), bytes_number(direct),
           plural(run.counter("device_sent_pipelined"), "block"), bytes_number(pieces));
    if (const double received = run.counter("device_received_direct"); received > 0)
      line("  received from other nodes straight in its memory: {} ({})", plural(received, "block"),
           bytes_number(run.counter("device_bytes_received_direct")));
    if (const double received = run.counter("device_received_pipelined"); received > 0)
      line("  received from other nodes through the host: {} ({}), in {} that set off before the rest had come",
           plural(received, "block"), bytes_number(run.counter("device_bytes_received_pipelined")),
           plural(run.counter("device_pieces_early"), "piece"));
    if (const double instead = run.counter("device_on_host_instead"); instead > 0)
      line(
          "  {} ran on the host, because their operands did not fit: more memory (--device-memory), or smaller segments",
          plural(instead, "operation"));
    if (const double checks = run.counter("device_self_checks"); checks > 0)
      line("  {} compared with the host's reference kernels (--self-check), all agree", plural(checks, "result"));
    if (run.transfers.empty()) return;
    line("  {:>10} {:>12} {:>10} {:>12} {:>14} {:>12}  {}", "to device", "bytes", "back", "bytes", "as written",
         "least", "array");
    for (std::size_t i = 0; i < std::min(longest_list, run.transfers.size()); ++i) {
      const TransferLine& t = run.transfers[i];
      const auto bytes = [](std::int64_t n) { return bytes_number(static_cast<double>(n)); };
      line("  {:>10} {:>12} {:>10} {:>12} {:>14} {:>12}  {} at {}:{}", t.in.transfers, bytes(t.in.bytes),
           t.out.transfers, bytes(t.out.bytes), bytes(t.in_unoptimized.bytes + t.out_unoptimized.bytes),
           bytes(t.in_lower_bound.bytes + t.out_lower_bound.bytes), t.array, t.file, t.line);
    }
  }

  void waits(const Run& run) {
    if (std::none_of(run.accesses.begin(), run.accesses.end(), [](const AccessLine& a) { return a.accesses > 0; }))
      return;
    if (run.accesses[0].blocked == 0) return line("\nno use of a remote block had to wait");
    line("\nwaiting for remote blocks\n  {:>10} {:>12} {:>12} {:>12} {:>10} {:>10}  {}", "hit ratio", "first wait",
         "mean wait", "total wait", "uses", "waited", "array");
    for (std::size_t i = 0; i < std::min(longest_list, run.accesses.size()) && run.accesses[i].blocked > 0; ++i) {
      const AccessLine& a = run.accesses[i];
      line("  {:>10.4f} {:>12} {:>12} {:>12} {:>10} {:>10}  {} at {}:{}", a.hit_ratio(),
           seconds_number(a.first_wait_seconds), seconds_number(a.wait_seconds / static_cast<double>(a.accesses)),
           seconds_number(a.wait_seconds), a.accesses, a.blocked, a.array, a.file, a.line);
    }
  }

  void prefetch(const Run& run) {
    const Prefetches p = prefetches_of(run);
    if (p.issued == 0) return;
    line("\nprefetches: {} issued, {:.1f} % useful, {:.1f} % late, {:.1f} % useless", count_number(p.issued),
         100 * p.useful / p.issued, 100 * p.late / p.issued, 100 * p.useless / p.issued);
  }

  const Report& r_;
};

}  // namespace

std::string to_text(const Report& report) { return Text(report).text(); }

}  // namespace sial::report
