// The columns of opcodes.def against what the interpreter does: every instruction is run alone on known registers and
// blocks, and again with one operand's initial value changed. What then changes tells what the instruction read,
// replaced or left alone.
#include <catch2/catch.hpp>

#include <climits>
#include <set>
#include <sstream>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/interp/job/job_run.h"
#include "runtime/core/interp/rank_check/rank_flow.h"
#include "runtime/core/transport/loopback.h"

using namespace sial;

namespace {

constexpr std::int32_t positions = 4;

/// What one run starts with: by operand position the value of its register, or of all elements of its block.
struct Start {
  std::array<std::int32_t, positions> ints{7, 3, 5, 2};
  std::array<double, positions> scalars{3.5, 1.75, 2.5, 3.25};
  bool operator==(const Start&) const = default;
};

struct Result {
  std::string printed, error;  // by the instruction itself
  std::array<std::string, positions> value{};
  double block_operations = 0, flops = 0;
};

bool is_block(OperandKind k) { return k == OperandKind::ref || k == OperandKind::region || k == OperandKind::array; }
bool is_int(OperandKind k) { return k == OperandKind::iin || k == OperandKind::iout; }
bool is_scalar(OperandKind k) { return k == OperandKind::sin || k == OperandKind::sout || k == OperandKind::svar; }
bool is_value(OperandKind k) { return is_block(k) || is_int(k) || is_scalar(k); }

/// Makes the block that it writes, and finds none before.
bool makes(const OpcodeInfo& o) {
  return o.op_class == OpClass::memory && !o.has(op::no_data) && o.access[0] == OperandAccess::out;
}

/// A module with one instruction of the opcode in loops over all indices that its operands have.
class Trial {
 public:
  Trial(const OpcodeInfo& opcode, SetOp setop) : o_(opcode) {
    m_.program = "p";
    m_.files = {"p.sialx"};
    m_.source_hash = std::string(64, '0');
    m_.reals = {4.5};
    m_.strings = {"text"};
    for (std::int32_t k = 0; k < positions; ++k) {
      m_.ints.push_back({std::string("n") + digit(k), false, 0});
      m_.scalars.push_back({std::string("x") + digit(k), false, 0});
    }
    for (std::int32_t k = 0; k < positions; ++k)
      m_.scalars.push_back({std::string("f") + digit(k), false, 0});  // what blocks are filled with
    m_.n_int_registers = one_ + 1;
    m_.n_scalar_registers = 2 * positions;
    for (const char* name : {"i", "j", "k"})
      m_.indices.push_back({name, IndexKind::ao, {false, 1}, {false, 1}, no_index});
    m_.indices.push_back({"p", IndexKind::simple, {false, 1}, {false, 1}, no_index});
    m_.indices.push_back({"ii", IndexKind::sub, {}, {}, i});
    for (std::int32_t k = 0; k < positions; ++k) declare(k);
    for (std::int32_t k = 0; k < positions; ++k)
      m_.arrays.push_back({std::string("c") + digit(k), ArrayKind::contiguous_local, false, false, {i, j}});
    instruction_.op = opcode.op;
    std::int32_t* const values[] = {&instruction_.a, &instruction_.b, &instruction_.c, &instruction_.d};
    for (std::int32_t k = 0; k < positions; ++k) *values[k] = operand(k, setop);
    set_intents();
  }

  /// What the verifier says of it; empty: nothing.
  std::string problem() const {
    try {
      verify_module(program(Start{}, -1, true), "test");
      return {};
    } catch (const SialError& error) { return error.what(); }
  }
  bool valid() const { return problem().empty(); }

  /// The value of each operand behind the instruction; without it, before.
  Result run(const Start& start, bool with_instruction = true) const {
    Result result;
    for (std::int32_t k = 0; k < positions; ++k)
      if (is_value(kind(k))) result.value[at(k)] = observed(program(start, k, with_instruction), nullptr);
    result.printed = observed(program(start, -1, with_instruction), &result);
    return result;
  }

  /// The instruction and a statement on a block, as a fused group: on the block that it writes, or on another one
  /// beside it.
  Module fused() const { return program(Start{}, -1, true, Group::fused); }

  std::array<std::string, positions> run_group(bool as_fused) const {
    std::array<std::string, positions> values{};
    for (std::int32_t k = 0; k < positions; ++k)
      if (is_value(kind(k)))
        values[at(k)] = observed(program(Start{}, k, true, as_fused ? Group::fused : Group::plain), nullptr);
    return values;
  }

  const Instruction& instruction() const { return instruction_; }

 private:
  enum class Group { none, plain, fused };
  static constexpr IndexId i{0}, j{1}, k_{2}, p{3}, ii{4};
  static constexpr std::int32_t one_ = positions;  // an int register that holds 1
  static std::string digit(std::int32_t k) { return std::to_string(k); }
  static std::size_t at(std::int32_t k) { return static_cast<std::size_t>(k); }
  OperandKind kind(std::int32_t k) const { return o_.operands[at(k)]; }

  bool product() const { return o_.cost == OpCost::product; }
  bool part(std::int32_t k) const {
    return (o_.op == Opcode::block_slice && k == 1) || (o_.op == Opcode::block_insert && k == 0);
  }
  bool small(std::int32_t k) const {
    return (o_.op == Opcode::block_slice && k == 0) || (o_.op == Opcode::block_insert && k == 1);
  }
  bool remote(std::int32_t k) const {
    return (k == 0 && (o_.op_class == OpClass::put || o_.op_class == OpClass::fetch)) ||
           (k == 1 && o_.op == Opcode::put_alias);
  }

  void declare(std::int32_t k) {
    std::vector<IndexId> dims{i, j};
    if (product()) dims = k == 1 ? std::vector<IndexId>{i, k_} : k == 2 ? std::vector<IndexId>{k_, j} : dims;
    if (o_.op == Opcode::real_element) dims = {p};
    if (small(k)) dims = {ii, j};
    ArrayKind array = o_.has(op::planned) && o_.op_class == OpClass::memory ? ArrayKind::temp : ArrayKind::local;
    if (remote(k)) array = ArrayKind::distributed;
    if (kind(k) == OperandKind::array) array = ArrayKind::static_;
    m_.arrays.push_back({std::string("b") + digit(k), array, false, false, dims});
    // Two references per array and intent: the block of the operand and the whole block.
    for (const bool whole : {false, true})
      for (const Intent intent : {Intent::read, Intent::write, Intent::update}) {
        RefRow row{ArrayId(k), intent, {}};
        for (std::size_t d = 0; d < dims.size(); ++d)
          row.entries.push_back({d == 0 && !whole && part(k) ? ii : dims[d], false});
        m_.refs.push_back(row);
      }
    for (const Intent intent : {Intent::read, Intent::write, Intent::update})
      m_.regions.push_back({ArrayId(positions + k), intent, {one_, one_}, {one_, one_}});
  }
  static std::int32_t ref(std::int32_t k, bool whole, Intent intent) {
    return k * 6 + (whole ? 3 : 0) + static_cast<std::int32_t>(intent);
  }
  static std::int32_t region(std::int32_t k, Intent intent) { return k * 3 + static_cast<std::int32_t>(intent); }

  std::int32_t operand(std::int32_t k, SetOp setop) const {
    switch (kind(k)) {
      case OperandKind::iin:
      case OperandKind::iout:
      case OperandKind::sin:
      case OperandKind::sout:
      case OperandKind::svar: return k;
      case OperandKind::setop: return static_cast<std::int32_t>(setop);
      case OperandKind::imm: return 9;
      case OperandKind::index: return p.number();
      case OperandKind::ostr: return -1;
      case OperandKind::array: return k;
      case OperandKind::count: return o_.op == Opcode::keep_block ? 1 : 0;
      default: return 0;
    }
  }

  /// The references that the instruction names are those of the intents that its row and its operator ask for.
  void set_intents() {
    const Instruction as_is = instruction_;
    std::int32_t* const values[] = {&instruction_.a, &instruction_.b, &instruction_.c, &instruction_.d};
    for (std::int32_t k = 0; k < positions; ++k) {
      if (kind(k) == OperandKind::ref) *values[k] = ref(k, false, operand_intent(as_is, k));
      if (kind(k) == OperandKind::region) *values[k] = region(k, operand_intent(as_is, k));
    }
  }

  /// `observe`: the position of the operand that is printed behind the instruction, -1: none.
  Module program(const Start& start, std::int32_t observe, bool with_instruction, Group group = Group::none) const {
    Module m = m_;
    for (std::int32_t k = 0; k < positions; ++k) {
      m.ints[at(k)].initial = start.ints[at(k)];
      m.scalars[at(k)].initial = start.scalars[at(k)];
      m.scalars[at(k + positions)].initial = start.scalars[at(k)];
    }
    const auto add = [&](Opcode op, std::int32_t a = 0, std::int32_t b = 0, std::int32_t c = 0, std::int32_t d = 0) {
      m.code.push_back({op, a, b, c, d});
      m.places.push_back({0, static_cast<std::int32_t>(m.code.size()), 1});
    };
    const auto add_instruction = [&](const Instruction& in) { add(in.op, in.a, in.b, in.c, in.d); };
    add(Opcode::int_const, one_, 1);
    std::vector<std::pair<LoopKind, IndexId>> loops{
        {LoopKind::do_, i}, {LoopKind::do_, j}, {LoopKind::do_, k_}, {LoopKind::do_, p}};
    if (o_.op == Opcode::block_slice || o_.op == Opcode::block_insert) loops.push_back({LoopKind::sub, ii});
    for (std::size_t l = 0; l < loops.size(); ++l) {
      LoopRow row;
      row.kind = loops[l].first;
      row.indices = {loops[l].second};
      row.begin = static_cast<std::int32_t>(m.code.size());
      row.body = row.begin + 1;
      add(row.kind == LoopKind::sub ? Opcode::sub_begin : Opcode::do_begin, static_cast<std::int32_t>(l));
      add(Opcode::body_begin, static_cast<std::int32_t>(l));
      m.loops.push_back(row);
    }
    for (std::int32_t k = 0; k < positions; ++k) fill(k, add);
    add(Opcode::barrier);
    if (o_.op == Opcode::put_alias) add(Opcode::get, ref(1, true, Intent::read));
    add(Opcode::print_string, 0, 1);
    if (group == Group::fused) add(Opcode::fused, 2);
    if (with_instruction) add_instruction(instruction_);
    if (group != Group::none && o_.has(op::elementwise))
      add(Opcode::block_scale, ref(0, false, Intent::update), positions + 3);
    if (group != Group::none && !o_.has(op::elementwise))
      add(Opcode::block_fill, ref(positions - 1, true, Intent::write), positions + 3);
    add(Opcode::print_string, 0, 1);
    if (o_.op_class == OpClass::put) add(Opcode::barrier);
    if (observe >= 0) print(observe, add);
    for (std::size_t l = loops.size(); l-- > 0;) {
      m.loops[l].next = static_cast<std::int32_t>(m.code.size());
      m.loops[l].end = m.loops[l].next + 1;
      add(m.loops[l].kind == LoopKind::sub ? Opcode::sub_next : Opcode::do_next, static_cast<std::int32_t>(l));
    }
    add(Opcode::halt);
    return m;
  }

  template <class Add>
  void fill(std::int32_t k, const Add& add) const {
    const std::int32_t with = positions + k;
    if (kind(k) == OperandKind::region && !(makes(o_) && k == 0)) {
      add(Opcode::allocate_region, region(k, Intent::write));
      add(Opcode::region_fill, region(k, Intent::write), with);
    }
    if ((kind(k) != OperandKind::ref && kind(k) != OperandKind::array) || (makes(o_) && k == 0)) return;
    if (remote(k)) add(Opcode::put_scalar, ref(k, true, Intent::write), with, static_cast<std::int32_t>(SetOp::assign));
    else add(Opcode::block_fill, ref(k, true, Intent::write), with);
  }

  template <class Add>
  void print(std::int32_t k, const Add& add) const {
    if (is_int(kind(k))) return add(Opcode::print_int, k, 1, -1);
    if (is_scalar(kind(k))) return add(Opcode::print_scalar, k, 1, -1);
    if (kind(k) == OperandKind::region) return add(Opcode::print_region, region(k, Intent::read), 1);
    if (remote(k)) add(Opcode::get, ref(k, true, Intent::read));
    add(Opcode::print_block, ref(k, true, Intent::read), 1);
  }

  /// What is printed behind the instruction; with `result`, by it.
  std::string observed(const Module& m, Result* result) const {
    JobData data;
    data.segments[IndexKind::ao] = {8};
    const auto transport = make_loopback();
    const auto queue = make_work_queue(*transport);
    const auto store = make_block_store(*transport, queue.get(), StoreOptions{});
    const auto kernels = make_kernels("reference", store->buffers());
    RankState state;
    std::ostringstream out, err;
    std::string error;
    {
      Environment environment{data, *transport, *store, *queue, *kernels, out, err, state};
      Machine machine(m, 0, environment, {.print_format = PrintFormat::plain, .look_ahead = {}, .outlook = {}});
      try {
        machine.run();
      } catch (const SialError& failure) { error = failure.what(); }
    }
    if (result) {
      result->error = error;
      result->block_operations = state.stats[Counter::block_operations];
      result->flops = state.stats[Counter::flops];
    }
    const std::string text = out.str(), mark = "text\n";
    const std::size_t first = text.find(mark), last = text.rfind(mark);
    if (result) return first == last ? "" : text.substr(first + mark.size(), last - first - mark.size());
    return first == last ? "error: " + error
                         : text.substr(last + mark.size()) + (error.empty() ? "" : "error: " + error);
  }

  const OpcodeInfo& o_;
  Module m_;
  Instruction instruction_;
};

const std::vector<std::int32_t> other_ints{8, 1, 0, -4, INT_MAX, INT_MIN};
const std::vector<double> other_scalars{9.75, 0.0, -2.5, -7.0, 1e300};

/// The start with another value of operand k, for each of some values.
std::vector<Start> changed(const Start& start, const OpcodeInfo& o, std::int32_t k) {
  std::vector<Start> all;
  const auto at = static_cast<std::size_t>(k);
  const auto note = [&](const Start& s) {
    if (!(s == start)) all.push_back(s);
  };
  Start s = start;
  if (is_int(o.operands[at]))
    for (const std::int32_t v : other_ints) s.ints[at] = v, note(s);
  else
    for (const double v : other_scalars) s.scalars[at] = v, note(s);
  return all;
}

/// Control has no operands of this kind, `execute` and devices have arguments, collectives and persistence need others.
bool runs_alone(const OpcodeInfo& o) {
  switch (o.op_class) {
    case OpClass::integer:
    case OpClass::scalar:
    case OpClass::block:
    case OpClass::fetch:
    case OpClass::put:
    case OpClass::output: return true;
    case OpClass::memory: return o.operands[0] == OperandKind::ref || o.operands[0] == OperandKind::region;
    case OpClass::sync: return o.op == Opcode::collective_sum;
    default: return false;
  }
}

std::vector<SetOp> operators(const OpcodeInfo& o) {
  if (o.count(OperandKind::setop) == 0) return {SetOp::assign};
  return {SetOp::assign, SetOp::add, SetOp::subtract, SetOp::scale};
}

/// What happens to the value of operand k, by the table.
OperandAccess access_of(const OpcodeInfo& o, const Instruction& in, std::int32_t k) {
  const auto at = static_cast<std::size_t>(k);
  switch (o.operands[at]) {
    case OperandKind::iin:
    case OperandKind::sin: return OperandAccess::in;
    case OperandKind::iout:
    case OperandKind::sout: return OperandAccess::out;
    case OperandKind::svar: return OperandAccess::inout;
    default: break;
  }
  if (o.access[at] != OperandAccess::set) return o.access[at];
  return operand_intent(in, k) == Intent::write ? OperandAccess::out : OperandAccess::inout;
}

bool same_but(const Result& a, const Result& b, std::int32_t k) {
  for (std::size_t other = 0; other < a.value.size(); ++other)
    if (other != static_cast<std::size_t>(k) && a.value[other] != b.value[other]) return false;
  return a.printed == b.printed && a.error == b.error;
}

void check_operand(const OpcodeInfo& o, const Trial& trial, std::int32_t k) {
  const auto at = static_cast<std::size_t>(k);
  const OperandAccess access = access_of(o, trial.instruction(), k);
  const Start start;
  const Result before = trial.run(start, false), after = trial.run(start);
  bool writes = after.value[at] != before.value[at], keeps = false, seen = false;
  for (const Start& other : changed(start, o, k)) {
    const Result was = trial.run(other, false), now = trial.run(other);
    seen = seen || !same_but(now, after, k);
    if (!now.error.empty()) continue;  // nothing came of it
    writes = writes || now.value[at] != was.value[at];
    keeps = keeps || now.value[at] != after.value[at];
  }
  CAPTURE(o.name, k, static_cast<int>(access), before.value[at], after.value[at]);
  CHECK(after.error.empty());
  CHECK(writes == (access != OperandAccess::in));  // a value that is only read stays
  if (access != OperandAccess::in && !makes(o))
    CHECK(keeps == (access == OperandAccess::inout));  // one that is replaced leaves nothing
  if (access == OperandAccess::in && o.op_class != OpClass::fetch) CHECK(seen == !o.has(op::no_data));
  if (k == 0 && is_block(o.operands[0])) CHECK((after.value[0].find("error") != std::string::npos) == o.has(op::frees));
}

}  // namespace

TEST_CASE("operands are read, replaced and changed as their columns say") {
  int checked = 0;
  for (const OpcodeInfo& o : opcode_table()) {
    if (!runs_alone(o)) continue;
    CAPTURE(o.name);
    int valid = 0;
    std::string problem;
    for (const SetOp setop : operators(o)) {
      const Trial trial(o, setop);
      problem = trial.problem();
      if (!problem.empty()) continue;
      ++valid;
      for (std::int32_t k = 0; k < positions; ++k)
        if (is_value(o.operands[static_cast<std::size_t>(k)])) check_operand(o, trial, k);
    }
    CAPTURE(problem);
    CHECK(valid > 0);
    ++checked;
  }
  CHECK(checked > 60);
}

TEST_CASE("what never fails has no errors at the ends of its operands' ranges, other arithmetic has") {
  for (const OpcodeInfo& o : opcode_table()) {
    if (!runs_alone(o)) continue;
    bool fails = false;
    std::string error;
    const Trial trial(o, SetOp::assign);
    if (!trial.valid()) continue;
    for (std::int32_t k = 0; k < positions; ++k) {
      if (!is_int(o.operands[static_cast<std::size_t>(k)]) && !is_scalar(o.operands[static_cast<std::size_t>(k)]))
        continue;
      for (const Start& start : changed(Start{}, o, k))
        for (const Start& both : k == 1 ? changed(start, o, 2) : std::vector<Start>{start})
          if (const Result result = trial.run(both); !result.error.empty()) fails = true, error = result.error;
    }
    CAPTURE(o.name, error);
    if (o.has(op::never_fails)) CHECK_FALSE(fails);
    else if (is_arithmetic(o.op) && !uses_blocks(o.op)) CHECK(fails);
  }
}

TEST_CASE("the cost column and the counters of the interpreter agree") {
  for (const OpcodeInfo& o : opcode_table()) {
    if (!runs_alone(o)) continue;
    for (const SetOp setop : operators(o)) {
      const Trial trial(o, setop);
      if (!trial.valid()) continue;
      const Result with = trial.run(Start{}), without = trial.run(Start{}, false);
      const bool works =
          (o.op_class == OpClass::block && o.cost != OpCost::quick) || o.cost == OpCost::dot || puts_block(o.op);
      CAPTURE(o.name);
      CHECK((with.block_operations > without.block_operations) == works);
      CHECK((with.flops > without.flops) == (o.cost == OpCost::product || o.cost == OpCost::dot));
    }
  }
}

TEST_CASE("what brings arrays and copies of blocks into being or out of it uses no values of theirs") {
  for (const OpcodeInfo& o : opcode_table()) {
    if (o.op_class != OpClass::memory || o.operands[0] != OperandKind::array) continue;
    CAPTURE(o.name);
    Module m;
    m.indices = {{"i", IndexKind::simple, {false, 1}, {false, 3}, no_index}};
    m.arrays = {{"d", ArrayKind::distributed, false, false, {IndexId(0)}}};
    m.code = {{o.op}, {Opcode::halt}};
    const RankFlow flow(m);
    CHECK(flow.read(0, 1).empty());
    CHECK(flow.written(0, 1).empty());
  }
}

TEST_CASE("a fused group takes what the table calls elementwise or fusible, and nothing else") {
  for (const OpcodeInfo& o : opcode_table()) {
    if (!runs_alone(o)) continue;
    for (const SetOp setop : operators(o)) {
      const Trial trial(o, setop);
      if (!trial.valid()) continue;
      CAPTURE(o.name);
      const Module m = trial.fused();
      if (!o.has(op::elementwise) && !o.has(op::fusible)) {
        CHECK_THROWS_AS(verify_module(m, "test"), SialError);
        continue;
      }
      CHECK_NOTHROW(verify_module(m, "test"));
      CHECK(trial.run_group(true) == trial.run_group(false));
    }
  }
}
