#include "runtime/core/model/work_count.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/core/bytecode/evaluate/iteration_space.h"

namespace sial {
namespace {

constexpr std::int64_t short_loop = 16;  // iterations that are all followed
// A few iterations of a longer loop tell how many the steps suffice for: at least so many, and up to this part of the
// steps, as where clauses may accept one in many.
constexpr std::int64_t first_sample = 4, first_share = 16;
constexpr double golden = 0.6180339887498949;
constexpr double max_tuples = 1e12;  // that can be followed by number

class Counter {
 public:
  Counter(const Module& m, const BoundProgram& bound, const JobData& job, std::int64_t max_steps,
          std::int32_t iterations)
      : m_(m),
        bound_(bound),
        registers_(m, job),
        values_(m.indices.size()),
        decides_(m.indices.size()),
        iterations_(iterations),
        steps_left_(max_steps) {
    for (const Instruction& in : m.code)
      if (in.op == Opcode::int_index) decides_[in.b] = 1;
    ends_by_data_.resize(m.loops.size());
    for (std::size_t l = 0; l < m.loops.size(); ++l)
      for (std::int32_t pc = m.loops[l].begin; pc < m.loops[l].end; ++pc)
        if (m.code[pc].op == Opcode::exit_loop && m.code[pc].a == static_cast<std::int32_t>(l)) ends_by_data_[l] = 1;
    result_.nests.push_back({});
    result_.nests[0].executions = CodeCounts(m.main_entry, static_cast<std::int32_t>(m.code.size()));
  }

  WorkCount run() {
    result_.nests[0].opened = result_.nests[0].iterations = 1;
    const std::int64_t before = steps_left_;
    run_code(m_.main_entry, static_cast<std::int32_t>(m_.code.size()), 1.0, false);
    result_.steps = before - steps_left_;
    return std::move(result_);
  }

 private:
  LoopNest& nest() { return result_.nests[nest_]; }

  /// The code of [begin, end) `weight` times.
  void run_code(std::int32_t begin, std::int32_t end, double weight, bool uncertain) {
    for (std::int32_t pc = begin; pc < end;) {
      const Instruction& in = m_.code[pc];
      --steps_left_;
      nest().executions[pc] += weight;
      switch (in.op) {
        case Opcode::halt:
        case Opcode::ret: return;
        case Opcode::stop:
        case Opcode::exit_loop:
          if (!uncertain) return;
          ++pc;
          break;
        case Opcode::jump: pc = std::max(in.a, pc + 1); break;
        case Opcode::where:
          if (registers_.integer(in.a) == 0) return;
          ++pc;
          break;
        case Opcode::jump_unless:
          if (const auto condition = registers_.integer(in.a)) pc = *condition == 0 ? std::max(in.b, pc + 1) : pc + 1;
          else pc = run_both(pc, in, weight);
          break;
        case Opcode::call:
          call(in.a, weight, uncertain);
          ++pc;
          break;
        case Opcode::do_begin:
        case Opcode::sub_begin:
        case Opcode::pardo_begin:
          run_loop(in.a, weight, uncertain);
          pc = m_.loops[in.a].end;
          break;
        case Opcode::execute:
          invalidate_arguments(in, uncertain);
          ++pc;
          break;
        default: registers_.apply(in, in.op == Opcode::int_index ? values_[in.b] : std::nullopt, uncertain); ++pc;
      }
    }
  }

  /// Data decide. Returns where both ways meet.
  std::int32_t run_both(std::int32_t pc, const Instruction& in, double weight) {
    if (in.b <= pc) return pc + 1;
    const Instruction& last = m_.code[in.b - 1];
    const bool has_else = in.b - 1 > pc && last.op == Opcode::jump && last.a >= in.b;
    run_code(pc + 1, has_else ? in.b - 1 : in.b, weight / 2, true);
    if (!has_else) return in.b;
    run_code(in.b, last.a, weight / 2, true);
    return last.a;
  }

  void call(std::int32_t proc, double weight, bool uncertain) {
    constexpr int deepest = 100;
    if (depth_ >= deepest) return;
    // Procedures that call others several times take steps without number: when there are no more, each is followed
    // once.
    if (steps_left_ <= 0 && !followed_.insert(proc).second) return;
    ++depth_;
    run_code(m_.procs[proc].entry, m_.procs[proc].end, weight, uncertain);
    --depth_;
  }

  void invalidate_arguments(const Instruction& in, bool uncertain) {
    const std::string& letters = m_.specials[in.a].signature;
    for (std::int32_t i = 0; i < in.c; ++i) {
      const ArgRow& arg = m_.args[in.b + i];
      const char letter = static_cast<std::size_t>(i) < letters.size() ? letters[static_cast<std::size_t>(i)] : 'r';
      if (arg.kind == ArgKind::scalar && letter != 'r') registers_.set_real(arg.id, {}, uncertain);
    }
  }

  std::size_t nest_of(std::int32_t loop) {
    const auto [at, is_new] = children_.try_emplace({nest_, loop}, result_.nests.size());
    if (is_new) {
      LoopNest child;
      child.loop = loop;
      child.parent = static_cast<std::int32_t>(nest_);
      const LoopRow& row = m_.loops[loop];
      child.executions = CodeCounts(row.begin, row.end);
      const bool divided = row.kind == LoopKind::pardo && !runs_everywhere(m_, row);
      child.in_pardo = nest().in_pardo || divided;
      result_.nests.push_back(std::move(child));
    }
    return at->second;
  }

  void run_loop(std::int32_t loop, double weight, bool uncertain) {
    const LoopRow& row = m_.loops[loop];
    std::vector<IndexId> followed;  // value by value
    double multiplied = 1;
    std::int64_t tuples = 1;
    for (const IndexId i : row.indices) {
      const BoundIndex& index = bound_.indices[i.at()];
      if (index.lo > index.hi) return;
      const std::int64_t values = std::int64_t{index.hi} - index.lo + 1;
      const auto count = static_cast<double>(values);
      if (decides_[i.at()] && !ends_by_data_[loop] && static_cast<double>(tuples) * count < max_tuples) {
        followed.push_back(i);
        tuples *= values;
      } else {
        multiplied *= ends_by_data_[loop] ? std::min(count, iterations_) : count;
        values_[i.at()].reset();
      }
    }
    const std::size_t outer = nest_;
    nest_ = nest_of(loop);
    nest().opened += weight;
    const std::int64_t sampled = sample_size(row, followed, tuples, uncertain),
                       step = sampled == tuples ? 1 : coprime_step(tuples);
    const double each = weight * multiplied * static_cast<double>(tuples) / static_cast<double>(sampled);
    // Work that is done in the first iteration only, and kept, is not done again.
    const double first = nest().in_pardo || multiplied <= 1 ? 1 : 1 / multiplied;
    std::int64_t at = sampled == tuples ? 0 : next_beginning(tuples);
    for (std::int64_t n = 0; n < sampled && steps_left_ > -max_overrun; ++n, at = (at + step) % tuples) {
      follow(row, followed, at, first * each, uncertain);
      if (first < 1) follow(row, followed, at, (1 - first) * each, uncertain);
    }
    nest().iterations += passed(row.body);
    for (const IndexId i : row.indices) values_[i.at()].reset();
    nest_ = outer;
  }

  void follow(const LoopRow& row, const std::vector<IndexId>& followed, std::int64_t tuple, double weight,
              bool uncertain) {
    bind(followed, tuple);
    run_code(row.begin + 1, row.next, weight, uncertain);
  }

  /// Iterations to follow, in an order without pattern, of all: three quarters of the steps that are left may go to
  /// this loop. The first ones, which count for nothing, say what one takes.
  std::int64_t sample_size(const LoopRow& row, const std::vector<IndexId>& followed, std::int64_t tuples,
                           bool uncertain) {
    if (steps_left_ <= 0) return 1;
    if (tuples <= short_loop) return tuples;
    const std::int64_t allowed = steps_left_ / 4 * 3, before = steps_left_, step = coprime_step(tuples);
    std::int64_t done = 0;
    const auto tells_more = [&] {
      return done < first_sample || (before - steps_left_ < allowed / first_share && done < tuples);
    };
    for (std::int64_t at = 0; tells_more() && steps_left_ > 0; ++done, at = (at + step) % tuples)
      follow(row, followed, at, 0.0, uncertain);
    const std::int64_t each = std::max<std::int64_t>(1, (before - steps_left_) / std::max<std::int64_t>(1, done));
    return std::clamp<std::int64_t>(allowed / each, 1, tuples);
  }

  /// The begin of a sample: another iteration each time, so that loops of which one iteration is followed are not taken
  /// by their first.
  std::int64_t next_beginning(std::int64_t tuples) {
    return static_cast<std::int64_t>(std::fmod(static_cast<double>(++samples_) * golden, 1.0) *
                                     static_cast<double>(tuples));
  }

  /// Near the golden section of n, and without a common divisor with it.
  static std::int64_t coprime_step(std::int64_t n) {
    auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) * golden));
    while (std::gcd(step, n) != 1) ++step;
    return step;
  }

  void bind(const std::vector<IndexId>& followed, std::int64_t tuple) {
    IterationSpace space;
    for (const IndexId i : followed) space.add(bound_.indices[i.at()].lo, bound_.indices[i.at()].hi);
    space.at(tuple, [&](std::size_t d, std::int32_t value) { values_[followed[d].at()] = value; });
  }

  /// Iterations that came to the body in this opening: what body_begin has counted since the last one.
  double passed(std::int32_t body) {
    const double now = nest().executions[body];
    double& before = passed_[nest_];
    return now - std::exchange(before, now);
  }

  const Module& m_;
  const BoundProgram& bound_;
  PlannedRegisters registers_;
  std::vector<std::optional<std::int32_t>> values_;  // of the indices, where they are followed
  std::vector<char> decides_, ends_by_data_;
  std::map<std::pair<std::size_t, std::int32_t>, std::size_t> children_;
  std::unordered_map<std::size_t, double> passed_;
  std::set<std::int32_t> followed_;  // procedures, since there are no steps left
  std::size_t nest_ = 0;
  int depth_ = 0;
  const double iterations_;  // of a loop that data end
  std::int64_t steps_left_, samples_ = 0;
  const std::int64_t max_overrun = steps_left_;  // of what was begun before the steps were spent
  WorkCount result_;
};

}  // namespace

WorkCount count_work(const Module& module, const BoundProgram& bound, const JobData& job, std::int64_t max_steps,
                     std::int32_t iterations) {
  return Counter(module, bound, job, max_steps, iterations).run();
}

}  // namespace sial
