// The model. A run is cut into parts: each outermost pardo, each outermost serial loop that gets, with the procedures
// they call, and the rest. The program is interpreted in its order, phase by phase (from one synchronization to the
// next), each loop around parts once, then once more for all later times, with what ranks hold by then.
//
// work: of a part, what all ranks measured on its lines, less their waiting for blocks and, between nodes, their draws;
// spread evenly over its groups of gets (gets with no block operation between them), or its iterations where it gets
// nothing. Of the rest: what a rank measured, since every rank executes it.
// fetches: of a part, those that its access slice foresees, block by block; gets that it cannot foresee, as often as
// the run made them, each of another block. Where the run was on several nodes and fetched less than the same model
// makes of that run, the same part of the fetches falls away. Of the rest: what the run made of them, once per rank.
// wait and idling of a phase: timeline.cpp plays its parts through on the target.
// synchronizations: ceil(log2 R) latencies each; blocks that were put to other nodes have to be acknowledged before.

#include "compiler/report/prediction/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/report/prediction/measured_part.h"
#include "compiler/report/prediction/timeline.h"
#include "compiler/report/program_parts.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/placement.h"

namespace sial::report {
namespace {

/// Larger pardos are played with every n-th iteration.
constexpr double max_tuples = 200'000, max_gets = 2'000'000;
constexpr std::int64_t max_steps = 100'000'000;  // of all slices

/// Spreads over 0..1, the same for the same number.
double fraction_of(std::uint64_t number) { return static_cast<double>(mix_hash(0x51a1, number) >> 11) * 0x1p-53; }

class Model {
 public:
  Model(const Module& m, const Run& run) : m_(m), run_(run), parts_(m), sizes_(m, run) {
    heavy_before_.push_back(0);
    for (const Instruction& in : m.code) heavy_before_.push_back(heavy_before_.back() + (is_heavy(in.op) ? 1 : 0));
    gather();
  }

  void predict(const Target& target, Prediction& p) {
    fit();
    const std::map<std::int32_t, Played> all = play(target);
    for (const auto& [loop, played] : all) {
      p.parts.push_back(describe(measured_.at(loop), played));
      p.bytes += played.bytes;
      p.fetches += played.fetches;
    }
    p.parts.push_back(outside(target, p));
    for (const PredictedPart& part : p.parts) {
      p.times.work += part.work;
      p.times.wait += part.wait;
      p.times.synchronization += part.synchronization;
    }
    std::stable_sort(p.parts.begin(), p.parts.end(),
                     [](const PredictedPart& a, const PredictedPart& b) { return a.total() > b.total(); });
  }

  Times measured(const Run& run) const {
    Times t;
    const double ranks = std::max(1, run.ranks);
    for (const CostLine& l : run.lines)
      if (parts_.part_of({l.file, l.line}) != -2)
        (parts_.is_synchronization({l.file, l.line}) ? t.synchronization : t.work) += l.seconds / ranks;
    for (const AccessLine& a : run.accesses) {
      t.wait += a.wait_seconds / ranks;
      t.work -= a.wait_seconds / ranks;
    }
    return t;
  }

  /// The time of a mean rank of a run in a part, idling left out.
  double measured(const Run& run, const PredictedPart& part) const {
    double seconds = 0;
    for (const CostLine& l : run.lines) {
      const LineKey line{l.file, l.line};
      const std::int32_t loop = parts_.part_of(line);
      if (loop != -2 && name_of(loop) == part.place && !parts_.is_synchronization(line)) seconds += l.seconds;
    }
    return seconds / std::max(1, run.ranks);
  }

  /// Bytes that gets of the run brought from other nodes.
  double fetched(const Run& run) const {
    double bytes = 0;
    for (const AccessLine& a : run.accesses)
      if (get_lines_.contains({a.file, a.line})) bytes += static_cast<double>(a.moved);
    return bytes;
  }

 private:
  std::string name_of(std::int32_t loop) const {
    if (loop < 0) return {};
    const LineKey line = parts_.line_of(m_.loops[static_cast<std::size_t>(loop)].begin);
    return fmt::format("{}:{}", line.first, line.second);
  }

  PardoMode division_of(const LoopRow& row) const {
    if (row.kind != LoopKind::pardo) return PardoMode::everywhere;
    return pardo_mode(m_, row, {run_.option("schedule") == "static"});
  }

  void gather() {
    for (const CostLine& l : run_.lines) {
      const LineKey line{l.file, l.line};
      executions_[line] += static_cast<double>(l.executions);
      const std::int32_t loop = parts_.part_of(line);
      if (loop == -2) continue;
      Measured& part = measured_[loop];
      part.loop = loop;
      part.runs += static_cast<double>(l.executions);
      if (parts_.is_synchronization(line)) synchronizations_ += static_cast<double>(l.executions) / run_.ranks;
      else if (parts_.is_draw(line) && run_.nodes > 1) part.draws += l.seconds;
      else part.seconds += l.seconds;
    }
    std::map<std::pair<LineKey, std::string>, double> moved;
    for (const AccessLine& a : run_.accesses) {
      if (const std::int32_t loop = parts_.part_of({a.file, a.line}); loop != -2)
        measured_[loop].waited += a.wait_seconds;
      moved[{{a.file, a.line}, a.array}] += static_cast<double>(a.moved);
    }
    std::map<LineKey, int> gets_on_line;
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc)
      if (op_class(m_.code[pc].op) == OpClass::fetch) ++gets_on_line[parts_.line_of(static_cast<std::int32_t>(pc))];
    for (std::size_t i = 0; i < m_.code.size(); ++i) {
      const auto pc = static_cast<std::int32_t>(i);
      const LineKey line = parts_.line_of(pc);
      const double count = executions_[line];
      Measured& part = measured_[parts_.part_of_pc(pc)];
      if (op_class(m_.code[i].op) == OpClass::fetch) {
        const ArrayId array = m_.refs[static_cast<std::size_t>(m_.code[i].a)].array;
        get_lines_.insert(line);
        if (count > 0)
          part.gets.push_back({pc, array, count, moved[{line, m_.arrays[array.at()].name}] / gets_on_line[line]});
      } else if (op_class(m_.code[i].op) == OpClass::put) {
        part.puts += count;
        part.sums |= count > 0 && m_.code[i].op == Opcode::put_combined;
        part.put_bytes += count * put_bytes(pc);
      }
    }
    for (auto& [loop, part] : measured_) {
      part.loop = loop;
      if (loop < 0) continue;
      const LoopRow& row = m_.loops[static_cast<std::size_t>(loop)];
      const double candidates = executions_[parts_.line_of(row.next)],
                   ranks = division_of(row) == PardoMode::dynamic ? 1 : run_.ranks;
      part.instances = std::max(1.0, std::round(candidates / (ranks * std::max(1.0, values_of(row)))));
      part.accepted = row.kind != LoopKind::pardo ? 1
                                                  : executions_[parts_.line_of(row.body)] / part.instances /
                                                        (division_of(row) == PardoMode::everywhere ? run_.ranks : 1);
    }
  }

  /// The pieces that are handed out to ranks: a serial loop is one piece.
  double tuples_of(const LoopRow& row) const { return row.kind == LoopKind::pardo ? values_of(row) : 1; }
  double values_of(const LoopRow& row) const {
    double n = 1;
    for (const IndexId i : row.indices) {
      const IndexRange& r = sizes_.ranges()[i.at()];
      n *= std::max(0.0, static_cast<double>(r.hi) - r.lo + 1);
    }
    return n;
  }

  // --- a pardo's iterations on a target

  void place(LoopGet& get, const Target& t, ArrayId array, const BlockIndex& block) const {
    get.array = array;
    const int homes = t.servers > 0 ? t.servers : t.nodes();
    const auto home =
        static_cast<int>(home_of_block(placement_number(run_.number, array), block, static_cast<std::size_t>(homes)));
    get.node = t.servers > 0 ? t.nodes() + home : home;
    const int first = home * t.on_a_node(), there = std::max(1, std::min(t.on_a_node(), t.ranks - first));
    get.server = t.servers > 0 ? t.ranks + home
                               : first + static_cast<int>((block_hash(block) >> 8) % static_cast<std::uint64_t>(there));
  }

  bool same_group(std::int32_t before, std::int32_t pc) const {
    return before >= 0 && before < pc &&
           heavy_before_[static_cast<std::size_t>(before)] == heavy_before_[static_cast<std::size_t>(pc)];
  }

  struct Enumerated {
    TimedLoop loop;
    double stride = 1;
  };

  Enumerated enumerate(const Measured& part, const Target& t, std::span<const std::int32_t> outer) {
    const LoopRow& row = m_.loops[static_cast<std::size_t>(part.loop)];
    Enumerated e;
    e.loop.division = division_of(row);
    e.loop.wheres = row.n_wheres;
    const double tuples = tuples_of(row);
    double gets = 0;
    for (const Get& g : part.gets) gets += g.count / part.instances;
    e.stride = std::max({1.0, std::floor(tuples / max_tuples), std::floor(gets / max_gets)});
    e.loop.tuples = static_cast<std::int64_t>(std::ceil(tuples / e.stride));
    std::map<std::int32_t, double> foreseen = by_slice(part, t, outer, e);
    unforeseen(part, t, foreseen, e);
    return e;
  }

  /// Follows the access slice; returns how many of each get it foresaw.
  std::map<std::int32_t, double> by_slice(const Measured& part, const Target& t, std::span<const std::int32_t> outer,
                                          Enumerated& e) {
    std::map<std::int32_t, double> found;
    const LoopRow& row = m_.loops[static_cast<std::size_t>(part.loop)];
    const auto slice =
        std::find_if(m_.slices.begin(), m_.slices.end(), [&](const SliceRow& s) { return s.loop == part.loop; });
    if (slice == m_.slices.end()) return found;
    const BoundSlice bound(m_, static_cast<std::int32_t>(slice - m_.slices.begin()), sizes_.ranges(),
                           [](ArrayId) { return nullptr; });
    std::set<std::int32_t> made;
    for (const Get& g : part.gets) made.insert(g.pc);
    SliceCursor cursor(bound);
    cursor.load(sizes_.ints(), sizes_.scalars(), outer);
    std::vector<std::int32_t> values(row.indices.size());
    IterationSpace space;
    for (const IndexId i : row.indices) {
      const IndexRange& r = sizes_.ranges()[i.at()];
      space.add(r.lo, r.hi);
    }
    if (e.loop.division == PardoMode::dynamic) space.deal(t.nodes());
    last_ = SliceOutcome::done;
    for (std::int64_t tuple = 0; tuple < e.loop.tuples && last_ == SliceOutcome::done; ++tuple) {
      space.at(static_cast<std::int64_t>(static_cast<double>(tuple) * e.stride),
               [&](std::size_t d, std::int32_t value) { values[d] = value; });
      if (!bound.parallel()) cursor.begin();
      else if (!cursor.enter(values)) {
        if (cursor.ended()) last_ = SliceOutcome::ended;
        continue;
      }
      LoopIteration& iteration = e.loop.iterations.emplace_back();
      iteration.tuple = tuple;
      std::int32_t before = -1;
      FetchRequest request;
      while (next(cursor, request)) {
        if (!made.contains(request.pc)) continue;  // under a condition that does not hold
        found[request.pc] += e.stride;
        LoopGet& get = iteration.gets.emplace_back();
        get.block = mix_hash(static_cast<std::uint64_t>(request.array.number()), block_hash(request.block));
        place(get, t, request.array, request.block);
        get.bytes = sizes_.bytes(request);
        get.ahead = range_of(bound, request.pc) > 1;
        get.begins_group = !same_group(before, request.pc);
        if (fraction_of(get.block) >= part.keep) get.node = -1;
        before = request.pc;
      }
    }
    if (last_ != SliceOutcome::done || steps_left_ <= 0) {  // not the whole loop: better nothing of it
      found.clear();
      e.loop.iterations.clear();
    }
    return found;
  }

  /// A serial loop goes on after an iteration that cannot be known.
  bool next(SliceCursor& cursor, FetchRequest& request) {
    do last_ = cursor.next(request, steps_left_);
    while (last_ == SliceOutcome::abandoned && !cursor.slice()->parallel());
    if (last_ == SliceOutcome::abandoned) last_ = SliceOutcome::done;
    return last_ == SliceOutcome::fetch;
  }

  static std::int64_t range_of(const BoundSlice& slice, std::int32_t pc) {
    for (const SliceFetch& f : slice.fetches())
      if (f.pc == pc) return f.range;
    return 1;
  }

  /// Iterations without a slice, and gets that it leaves out: spread evenly, each of a block of its own.
  void unforeseen(const Measured& part, const Target& t, const std::map<std::int32_t, double>& foreseen,
                  Enumerated& e) {
    if (e.loop.iterations.empty()) {
      const double accepted = std::clamp(part.accepted / e.stride, 1.0, static_cast<double>(e.loop.tuples));
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(accepted); ++i)
        e.loop.iterations.push_back(
            {static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(e.loop.tuples) /
                                       std::floor(accepted)),
             {}});
    }
    const auto iterations = static_cast<double>(e.loop.iterations.size());
    struct Due {
      const Get* get;
      double each = 0, due = 0;
      bool ahead = false;
    };
    std::vector<Due> left_out;
    for (const Get& g : part.gets) {
      if (foreseen.contains(g.pc)) continue;
      const double each = g.count / part.instances / (e.loop.division == PardoMode::everywhere ? run_.ranks : 1) /
                          (iterations * e.stride);
      left_out.push_back({&g, each, 0, is_foreseen(part.loop, g.pc)});
    }
    for (LoopIteration& iteration : e.loop.iterations) {
      std::int32_t before = -1;
      for (Due& d : left_out) d.due += d.each;
      for (bool any = true; std::exchange(any, false);)
        for (Due& d : left_out) {
          if (d.due < 0.5) continue;
          d.due -= 1;
          any = true;
          LoopGet& get = iteration.gets.emplace_back();
          BlockIndex block;
          block.rank = 2;
          block.segment = {++unknown_, d.get->pc};
          get.block = mix_hash(0xb10c, block_hash(block));
          place(get, t, d.get->array, block);
          get.bytes = sizes_.bytes(m_.refs[static_cast<std::size_t>(m_.code[static_cast<std::size_t>(d.get->pc)].a)]);
          get.ahead = d.ahead;
          get.begins_group = !same_group(before, d.get->pc);
          if (fraction_of(get.block) >= part.keep) get.node = -1;
          before = d.get->pc;
        }
    }
  }

  /// In the loop's slice, though only the run knows how often.
  bool is_foreseen(std::int32_t loop, std::int32_t pc) const {
    return std::any_of(m_.slices.begin(), m_.slices.end(), [&](const SliceRow& s) {
      return s.loop == loop && std::any_of(s.steps.begin(), s.steps.end(), [&](const SliceStep& step) {
               return step.pc == pc && step.action == SliceAction::fetch;
             });
    });
  }

  /// The run's own layout; its network is what its options say, if anything.
  Target layout_of_run() const {
    Target t;
    t.ranks = run_.ranks;
    t.servers = run_.servers;
    const int worker_nodes = std::max(1, run_.nodes - run_.servers);
    t.ranks_per_node = (run_.ranks + worker_nodes - 1) / worker_nodes;
    return t;
  }

  /// Where the run fetched less than the model makes of it, blocks were held that the model does not know of.
  void fit() {
    if (run_.nodes <= 1) return;
    for (const auto& [loop, played] : play(layout_of_run())) {
      Measured& part = measured_.at(loop);
      double moved = 0;
      for (const Get& g : part.gets) moved += g.moved;
      if (played.bytes > moved) part.keep = moved / played.bytes;
    }
    enumerated_.clear();
  }

  // --- the program on a target

  struct Played {
    double work = 0, wait = 0, idle = 0, bytes = 0, fetches = 0;
  };
  struct Step {
    std::int32_t loop = 0;
    double repeats = 1;
  };
  /// `times`: how often a rank comes here.
  struct Phase {
    std::vector<Step> steps;
    double times = 1;
    bool barrier = false;
    std::optional<double> put_last;  // bytes of what is put outside of parts
    std::set<ArrayId> retained;
  };

  double put_bytes(std::int32_t pc) const {
    const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
    return puts_block(in.op) ? sizes_.bytes(m_.refs[static_cast<std::size_t>(in.a)]) : 0;
  }

  /// The share of an event in each iteration of a loop: the part of its first iterations, or of all others.
  double share_of(const Parts::Event& e, const std::map<std::int32_t, double>& appearances) const {
    if (e.turn == Parts::Turn::every) return 1;
    const double met = synchronizations_at(e.synchronization) / appearances.at(-1 - e.synchronization);
    const double first =
        met > 0 ? std::min(
                      1.0,
                      std::max(1.0,
                               std::round(met / std::max(1.0, values_of(m_.loops[static_cast<std::size_t>(e.loop)])))) /
                          met)
                : 1;
    return e.turn == Parts::Turn::first ? first : 1 - first;
  }

  /// The number of times that a rank was there.
  double synchronizations_at(std::int32_t pc) const {
    const auto executed = executions_.find(parts_.line_of(pc));
    return executed == executions_.end() ? 0 : executed->second / run_.ranks;
  }

  std::vector<Phase> phases() const {
    std::map<std::int32_t, double> appearances;
    for (const Parts::Event& e : parts_.events())
      if (e.what != Parts::What::keep && e.what != Parts::What::put && e.turn != Parts::Turn::other)
        ++appearances[e.what == Parts::What::part ? e.row : -1 - e.row];
    std::vector<Phase> all(1);
    for (const Parts::Event& e : parts_.events()) {
      const double share = share_of(e, appearances);
      if (share <= 0) continue;
      Phase& now = all.back();
      if (e.what == Parts::What::keep) now.retained.insert(ArrayId(e.row));
      if (e.what == Parts::What::part) {
        const auto part = measured_.find(e.row);
        if (part != measured_.end() && part->second.runs > 0)
          now.steps.push_back({e.row, share * part->second.instances / appearances[e.row]});
      }
      if (e.what == Parts::What::put && executions_.contains(parts_.line_of(e.row)))
        now.put_last = std::max(now.put_last.value_or(0), put_bytes(e.row));
      if (e.what != Parts::What::barrier && e.what != Parts::What::synchronization) continue;
      const double times = share * synchronizations_at(e.row) / appearances[-1 - e.row];
      if (times <= 0) continue;  // nobody meets here
      now.times = times;
      now.barrier = e.what == Parts::What::barrier;
      all.emplace_back();
    }
    for (Phase& phase : all)
      for (Step& step : phase.steps) step.repeats /= phase.times;
    return all;
  }

  std::map<std::int32_t, Played> play(const Target& t) {
    constexpr int max_played = 3;  // of repetitions within a phase
    const std::vector<Phase> all = phases();
    std::map<std::int32_t, Played> sum;
    std::map<std::int32_t, std::int64_t> played_before;
    RanksState state(t);
    for (int pass = 0; pass < 2; ++pass)
      for (const Phase& phase : all) {
        if (pass > 0 && phase.times <= 1) continue;
        const double weight = pass == 0 ? std::min(1.0, phase.times) : phase.times - 1;
        double idle = 0;
        for (const Step& step : phase.steps) {
          const Measured& part = measured_.at(step.loop);
          const int n = static_cast<int>(std::clamp(std::round(step.repeats), 1.0, static_cast<double>(max_played)));
          Played& out = sum[step.loop];
          for (int k = 0; k < n; ++k) {
            const Enumerated& e = enumerated(part, t, played_before[step.loop]++);
            const LoopTimes times = run_loop(e.loop, t, state);
            const double idle_now = std::max(idle, state.longest() - state.mean());
            // The last one stands for those that are not played, and one for the part of it that happens.
            const double share = weight * e.stride * (n == 1 ? step.repeats : k + 1 < n ? 1.0 : step.repeats - n + 1);
            out.work += share * (times.work + times.draws);
            out.wait += share * times.wait;
            out.idle += share * (idle_now - idle);
            out.bytes += share * times.bytes;
            out.fetches += share * times.fetches;
            idle = idle_now;
          }
        }
        state.meet(phase.barrier, phase.retained);
      }
    return sum;
  }

  const Enumerated& enumerated(const Measured& part, const Target& t, std::int64_t number) {
    const std::vector<std::int32_t> outer = outer_values(part.loop, number);
    const auto key = std::make_pair(part.loop, outer);
    const auto found = enumerated_.find(key);
    if (found != enumerated_.end()) return found->second;
    Enumerated e = enumerate(part, t, outer);
    e.loop.work = std::max(0.0, part.seconds - part.waited) / part.instances / e.stride /
                  (e.loop.division == PardoMode::everywhere ? run_.ranks : 1);
    return enumerated_.emplace(key, std::move(e)).first->second;
  }

  /// Index values at the n-th time: loops around the part go on, the innermost first.
  std::vector<std::int32_t> outer_values(std::int32_t loop, std::int64_t number) const {
    std::vector<std::int32_t> values(sizes_.firsts().begin(), sizes_.firsts().end());
    const std::int32_t at = m_.loops[static_cast<std::size_t>(loop)].begin;
    std::vector<const LoopRow*> around;
    for (const LoopRow& row : m_.loops)
      if (row.kind == LoopKind::do_ && row.begin < at && at < row.end) around.push_back(&row);
    std::sort(around.begin(), around.end(), [](const LoopRow* a, const LoopRow* b) { return a->begin > b->begin; });
    for (const LoopRow* row : around) {
      const auto index = row->indices[0].at();
      const std::int64_t count =
          std::max<std::int64_t>(1, std::int64_t{sizes_.ranges()[index].hi} - sizes_.ranges()[index].lo + 1);
      values[index] += static_cast<std::int32_t>(number % count);
      number /= count;
    }
    return values;
  }

  PredictedPart describe(const Measured& part, const Played& played) const {
    PredictedPart out;
    out.place = name_of(part.loop);
    const LoopRow& row = m_.loops[static_cast<std::size_t>(part.loop)];
    out.kind = row.kind == LoopKind::pardo ? "pardo" : "do";
    for (const IndexId i : row.indices) out.indices += (out.indices.empty() ? "" : ",") + m_.indices[i.at()].name;
    out.instances = part.instances;
    for (const auto& [key, e] : enumerated_)
      if (key.first == part.loop) out.iterations = static_cast<double>(e.loop.iterations.size()) * e.stride;
    out.work = played.work;
    out.wait = played.wait;
    out.synchronization = played.idle;
    return out;
  }

  // --- the rest

  PredictedPart outside(const Target& t, Prediction& p) {
    PredictedPart out;
    out.instances = 1;
    const Measured& part = measured_[-1];
    out.work = std::max(0.0, part.seconds - part.waited) / run_.ranks;
    const double remote = t.servers > 0 ? 1.0 : 1.0 - 1.0 / t.nodes();
    for (const Get& g : part.gets) {
      const double bytes = sizes_.bytes(m_.refs[static_cast<std::size_t>(m_.code[static_cast<std::size_t>(g.pc)].a)]);
      const double before = run_.nodes > 1 ? remote_part(layout_of_run()) : 0;
      const double count = (before > 0 ? g.moved / bytes / before : g.count) * remote / run_.ranks;
      out.wait += count * trip_seconds(t, bytes);
      p.fetches += count * t.ranks;
      p.bytes += count * bytes * t.ranks;
    }
    out.synchronization = synchronizations_ * std::ceil(std::log2(t.ranks)) * t.latency;
    if (remote > 0) {
      for (const Phase& phase : phases()) out.synchronization += phase.times * acknowledged(phase, t);
    }
    return out;
  }

  /// What is put in a part is there by the time that the rank has asked all others for iterations; sums leave when
  /// ranks meet.
  double acknowledged(const Phase& phase, const Target& t) const {
    double seconds = phase.put_last ? trip_seconds(t, *phase.put_last) : 0;
    if (phase.steps.empty()) return seconds;
    const Measured& last = measured_.at(phase.steps.back().loop);
    if (last.puts <= 0) return seconds;
    const double asked = division_of(m_.loops[static_cast<std::size_t>(last.loop)]) == PardoMode::dynamic && !last.sums
                             ? asking_seconds(t, last.seconds / last.instances / t.ranks)
                             : 0;
    return std::max(seconds, trip_seconds(t, last.put_bytes / last.puts) - asked);
  }

  static double remote_part(const Target& t) { return t.servers > 0 ? 1.0 : 1.0 - 1.0 / t.nodes(); }

  const Module& m_;
  const Run& run_;
  Parts parts_;
  Sizes sizes_;
  std::map<std::int32_t, Measured> measured_;
  std::set<LineKey> get_lines_;
  std::map<LineKey, double> executions_;
  std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, Enumerated> enumerated_;  // on one target
  std::vector<std::int32_t> heavy_before_;
  double synchronizations_ = 0;  // of a rank
  std::int64_t steps_left_ = max_steps;
  SliceOutcome last_ = SliceOutcome::done;  // of a slice, after its gets
  std::int32_t unknown_ = 0;                // blocks that no slice names
};

void need_lines(const Run& run) {
  if (run.lines.empty())
    throw SialError(fmt::format("`{}` has no times of lines", run.path),
                    "run the program again with this version of sialrun");
}

}  // namespace

Times measured_times(const Module& module, const Run& run) { return Model(module, run).measured(run); }

Prediction predict(const Module& module, const Run& run, const Target& target, const std::optional<Run>& real) {
  need_lines(run);
  Model model(module, run);
  Prediction p;
  p.target = target;
  p.from = model.measured(run);
  model.predict(target, p);
  if (!real) return p;
  need_lines(*real);
  if (real->ranks != target.ranks || real->servers != target.servers)
    throw SialError(fmt::format("`{}` ran on {} ranks and {} servers, and the prediction is for {} and {}", real->path,
                                real->ranks, real->servers, target.ranks, target.servers),
                    "predict for the ranks of the run that the prediction is to be set beside");
  if (real->job != run.job)
    throw SialError(
        fmt::format("`{}` had other values or segments than `{}`", real->path, run.path),
        "only runs of the same job can be compared with a prediction; automatic segments follow the number of ranks: give both runs the same with `--segments`");
  p.measured.emplace();
  p.measured->ranks = real->ranks;
  p.measured->times = model.measured(*real);
  p.measured->bytes = model.fetched(*real);
  p.measured->memory = real->memory;
  for (PredictedPart& part : p.parts) part.measured = model.measured(*real, part);
  return p;
}

}  // namespace sial::report
