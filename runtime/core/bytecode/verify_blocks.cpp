// The verifier's third part: what each instruction asks of its blocks, regions, arrays and arguments. Labels of block
// algebra are the (index, as_simple) pairs of a reference; the rules are those of grammar/README.md (Blocks, get and
// put), so that kernels and store never meet an operation that has no meaning.
#include <algorithm>

#include "runtime/core/bytecode/verify_detail.h"

namespace sial::detail {
namespace {

using Label = std::pair<IndexId, bool>;

class BlockRules {
 public:
  explicit BlockRules(VerifyContext& c) : c_(c), m_(c.m) {}

  void check(const Instruction& i) {
    intents(i);
    switch (i.op) {
      case Opcode::real_element:
        operand(i.b);
        c_.require(is_all_simple(m_, ref(i.b)), "{} is not a single element", text(i.b));
        break;
      case Opcode::real_contract:
        operand(i.b), operand(i.c);
        distinct(i.b), distinct(i.c);
        c_.require(same_set(labels(i.b), labels(i.c)), "{} and {} do not have the same indices", text(i.b), text(i.c));
        break;
      case Opcode::block_copy: copy(i.a, i.b); break;
      case Opcode::block_accumulate:
        setop_in(i.c, {SetOp::add, SetOp::subtract});
        permutation(i.a, i.b);
        break;
      case Opcode::block_scaled_copy: permutation(i.a, i.b); break;
      case Opcode::block_scaled_accumulate:
        setop_in(i.d, {SetOp::add, SetOp::subtract});
        permutation(i.a, i.b);
        break;
      case Opcode::block_sum:
        setop_in(i.d, {SetOp::add, SetOp::subtract});
        permutation(i.a, i.b);
        permutation(i.a, i.c);
        break;
      case Opcode::block_contract: contract(i); break;
      case Opcode::block_slice: part(i.b, i.a); break;
      case Opcode::block_insert: part(i.a, i.b); break;
      case Opcode::region_put: operand(i.b), region_and_block(i.a, i.b); break;
      case Opcode::region_get: operand(i.a), region_and_block(i.b, i.a); break;
      case Opcode::allocate:
      case Opcode::deallocate:
        c_.require(array_of(i.a).kind == ArrayKind::local, "`{}` is {}, only local arrays are allocated",
                   array_of(i.a).name, array_kind_text(array_of(i.a).kind));
        whole_segments(i.a);
        break;
      case Opcode::create:
      case Opcode::erase_array: remote(m_.arrays[i.a]); break;
      case Opcode::get:
        operand(i.a);
        remote(array_of(i.a));
        break;
      case Opcode::put_block:
        setop_in(i.c, {SetOp::assign, SetOp::add});
        operand(i.a), operand(i.b);
        remote(array_of(i.a));
        c_.require(leading_agree(labels(i.a), labels(i.b)), "the indices of {} and {} do not agree in order", text(i.a),
                   text(i.b));
        break;
      case Opcode::put_combined:
      case Opcode::put_alias:
        operand(i.a), operand(i.b);
        remote(array_of(i.a));
        c_.require(leading_agree(labels(i.a), labels(i.b)), "the indices of {} and {} do not agree in order", text(i.a),
                   text(i.b));
        if (i.op != Opcode::put_alias) break;
        remote(array_of(i.b));
        c_.require(labels(i.a) == labels(i.b), "{} and {} are not blocks of the same shape", text(i.a), text(i.b));
        c_.require(!is_partial(m_, ref(i.b)), "{} is a part of a block", text(i.b));
        break;
      case Opcode::keep_copies:
        remote(m_.arrays[i.a]);
        c_.require(i.b < n_keeps, "{} is no way to keep copies", i.b);
        break;
      case Opcode::discard_values: remote(m_.arrays[i.a]); break;
      case Opcode::put_scalar:
        setop_in(i.c, {SetOp::assign, SetOp::add, SetOp::scale});
        operand(i.a);
        remote(array_of(i.a));
        break;
      case Opcode::broadcast:
        c_.require(m_.arrays[i.b].kind == ArrayKind::static_, "`{}` is {}, only static arrays are broadcast",
                   m_.arrays[i.b].name, array_kind_text(m_.arrays[i.b].kind));
        break;
      case Opcode::set_persistent:
      case Opcode::restore_persistent: persistent(i); break;
      case Opcode::print_index:
        c_.require(m_.indices[i.a].kind != IndexKind::sub, "the subindex `{}` has no value to print",
                   m_.indices[i.a].name);
        break;
      case Opcode::int_index:
        c_.require(m_.indices[i.b].kind != IndexKind::sub, "the subindex `{}` has no value", m_.indices[i.b].name);
        break;
      case Opcode::block_alias:
        own_memory(i.a);
        operand(i.b);
        c_.require(array_of(i.b).kind != ArrayKind::static_, "{} has no memory of its own to share", text(i.b));
        c_.require(leading_agree(labels(i.a), labels(i.b)), "the indices of {} and {} do not agree in order", text(i.a),
                   text(i.b));
        break;
      case Opcode::put_move:
        operand(i.a);
        own_memory(i.b);
        remote(array_of(i.a));
        c_.require(leading_agree(labels(i.a), labels(i.b)), "the indices of {} and {} do not agree in order", text(i.a),
                   text(i.b));
        break;
      case Opcode::free_block:
      case Opcode::keep_block:
        operand(i.a);
        c_.require(array_of(i.a).kind == ArrayKind::temp,
                   "`{}` is {}, only temps are freed before the end of their iteration", array_of(i.a).name,
                   array_kind_text(array_of(i.a).kind));
        break;
      case Opcode::contract_scaled:
      case Opcode::contract_add_scaled: product(i); break;
      case Opcode::execute: execute(i); break;
      default: usual(i);
    }
  }

  /// Checks a `fused`: work on one block, element by element, and on registers.
  void run_of(std::size_t pc) const {
    const auto count = static_cast<std::size_t>(m_.code[pc].a);
    c_.require(count >= 2 && count < m_.code.size() - pc, "{} instructions behind it cannot be one pass", count);
    const RefRow* target = nullptr;
    for (std::size_t k = pc + 1; k <= pc + count; ++k) {
      const Instruction& i = m_.code[k];
      std::int32_t found = -1;
      if (has(i.op, op::fusible)) continue;
      if (has(i.op, op::elementwise)) found = i.a;
      if (i.op == Opcode::execute && i.c > 0 && static_cast<std::size_t>(i.b) < m_.args.size() &&
          m_.args[i.b].kind == ArgKind::block)
        found = m_.args[i.b].id;
      c_.require(found >= 0, "the instruction {} behind it is no work on elements", k - pc);
      const RefRow& r = ref(found);
      distinct(found);
      c_.require(target == nullptr || (r.array == target->array && r.entries == target->entries),
                 "the instructions behind it work on {} and another block", text(found));
      target = &r;
    }
  }

 private:
  const RefRow& ref(std::int32_t r) const { return m_.refs[r]; }
  const ArrayRow& array_of(std::int32_t r) const { return m_.arrays[ref(r).array.at()]; }
  std::string text(std::int32_t r) const { return fmt::format("`{}`", ref_text(m_, ref(r))); }

  std::vector<Label> labels(std::int32_t r) const {
    std::vector<Label> out;
    for (const RefEntry& e : ref(r).entries) out.emplace_back(e.index, e.as_simple);
    return out;
  }

  bool simple(const Label& l) const { return l.second || m_.indices[l.first.at()].kind == IndexKind::simple; }

  static bool repeats(std::vector<Label> l) {
    std::sort(l.begin(), l.end());
    return std::adjacent_find(l.begin(), l.end()) != l.end();
  }

  static bool contains(const std::vector<Label>& l, const Label& x) {
    return std::find(l.begin(), l.end(), x) != l.end();
  }

  static bool same_set(std::vector<Label> a, std::vector<Label> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }

  void intents(const Instruction& i) const {
    const auto values = operands_of(i);
    const OpcodeInfo& info = *opcode_info(i.op);
    for (int p = 0; p < 4; ++p) {
      if (info.operands[p] != OperandKind::ref && info.operands[p] != OperandKind::region) continue;
      const Intent found = info.operands[p] == OperandKind::ref ? ref(values[p]).intent : m_.regions[values[p]].intent;
      const Intent needed = operand_intent(i, p);
      c_.require(found == needed, "operand {} is referenced for {}, the instruction needs {}",
                 static_cast<char>('a' + p), intent_text(found), intent_text(needed));
    }
  }

  /// Rules for opcodes without a rule of their own: blocks exist as one, arrays and what is on a device can be used as
  /// a whole.
  void usual(const Instruction& i) const {
    const OpcodeInfo& info = *opcode_info(i.op);
    const auto values = operands_of(i);
    for (std::size_t p = 0; p < 4; ++p) {
      if (info.operands[p] == OperandKind::ref) operand(values[p]);
      if (info.operands[p] == OperandKind::array) whole(m_.arrays[values[p]]);
      if (info.operands[p] != OperandKind::arg) continue;
      c_.require(in_table(values[p], m_.args), "the argument {} does not exist", values[p]);
      device_argument(m_.args[values[p]]);
    }
  }

  // A block that exists as one: not a set of blocks, not a region of a contiguous local.
  void whole_block(std::int32_t r) const {
    for (const RefEntry& e : ref(r).entries) c_.require(e.index != no_index, "{} denotes a set of blocks", text(r));
    c_.require(array_of(r).kind != ArrayKind::contiguous_local,
               "`{}` is a contiguous local and can only be used through regions", array_of(r).name);
  }

  void whole_segments(std::int32_t r) const {
    c_.require(!is_partial(m_, ref(r)), "{} denotes a part of a block", text(r));
  }

  void operand(std::int32_t r) const {
    whole_block(r);
    whole_segments(r);
  }

  // A whole block in a buffer of its own, which can be shared.
  void own_memory(std::int32_t r) const {
    operand(r);
    c_.require(array_of(r).kind == ArrayKind::temp || array_of(r).kind == ArrayKind::local,
               "{} is {}, only temps and locals share memory", text(r), array_kind_text(array_of(r).kind));
  }

  void distinct(std::int32_t r) const { c_.require(!repeats(labels(r)), "{} has an index twice", text(r)); }

  void setop_in(std::int32_t op, std::initializer_list<SetOp> allowed) const {
    c_.require(std::find(allowed.begin(), allowed.end(), static_cast<SetOp>(op)) != allowed.end(),
               "the assignment operator {} is not possible here", op);
  }

  // A repeated index is only possible when both lists are the same: then position by position.
  void permutation(std::int32_t a, std::int32_t b) const {
    operand(a), operand(b);
    const auto la = labels(a), lb = labels(b);
    c_.require(la == lb || (same_set(la, lb) && !repeats(la)),
               "the indices of {} and {} are no permutation of each other", text(a), text(b));
  }

  // Equal in order as far as both have entries in common; whatever else either side has is simple.
  bool leading_agree(const std::vector<Label>& a, const std::vector<Label>& b) const {
    std::size_t n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
    const auto rest_is_simple = [&](const std::vector<Label>& l) {
      return std::all_of(l.begin() + static_cast<std::ptrdiff_t>(n), l.end(),
                         [&](const Label& x) { return simple(x); });
    };
    return rest_is_simple(a) && rest_is_simple(b);
  }

  void copy(std::int32_t a, std::int32_t b) const {
    operand(a), operand(b);
    const auto la = labels(a), lb = labels(b);
    const bool permuted = same_set(la, lb) && !repeats(la);
    const bool repeated_target = la.size() == lb.size() && repeats(la) &&
                                 std::all_of(la.begin(), la.end(), [&](const Label& l) { return contains(lb, l); });
    c_.require(permuted || leading_agree(la, lb) || repeated_target, "{} cannot be copied to {}", text(b), text(a));
  }

  void contract(const Instruction& i) const {
    setop_in(i.d, {SetOp::assign, SetOp::add, SetOp::subtract});
    product(i);
  }

  void product(const Instruction& i) const {
    for (std::int32_t r : {i.a, i.b, i.c}) {
      operand(r);
      distinct(r);
    }
    const auto d = labels(i.a), l = labels(i.b), r = labels(i.c);
    std::size_t free = 0;
    for (const Label& x : l) free += contains(r, x) ? 0 : 1;
    for (const Label& x : r) free += contains(l, x) ? 0 : 1;
    c_.require(free == d.size(), "{} has {} indices, the product of {} and {} has {}", text(i.a), d.size(), text(i.b),
               text(i.c), free);
    for (const Label& x : d)
      c_.require(contains(l, x) != contains(r, x), "each index of {} must occur in exactly one of {} and {}", text(i.a),
                 text(i.b), text(i.c));
  }

  // `large` denotes a part of its block, `small` whole blocks over the subindices.
  void part(std::int32_t large, std::int32_t small) const {
    whole_block(large);
    operand(small);
    c_.require(is_partial(m_, ref(large)), "{} denotes no part of a block", text(large));
    c_.require(labels(large) == labels(small), "the indices of {} and {} are not the same", text(large), text(small));
  }

  void region_and_block(std::int32_t region, std::int32_t block) const {
    const ArrayRow& left = m_.arrays[m_.regions[region].array.at()];
    const ArrayRow& right = array_of(block);
    bool fits = left.dims.size() == right.dims.size();
    for (std::size_t d = 0; fits && d < left.dims.size(); ++d)
      fits = selector_kind(m_, left.dims[d]) == selector_kind(m_, right.dims[d]);
    c_.require(fits, "`{}` and `{}` are not declared over the same kinds of index", left.name, right.name);
  }

  void remote(const ArrayRow& array) const {
    c_.require(is_remote(array.kind), "`{}` is {}, neither distributed nor served", array.name,
               array_kind_text(array.kind));
  }

  void whole(const ArrayRow& array) const {
    c_.require(array.kind == ArrayKind::static_ || array.kind == ArrayKind::contiguous_local,
               "`{}` is {}, only static and contiguous arrays can be used as a whole", array.name,
               array_kind_text(array.kind));
  }

  void persistent(const Instruction& i) const {
    if (i.a == 0) {
      c_.require(in_table(i.b, m_.scalars), "the scalar {} does not exist", i.b);
      c_.require(!m_.scalars[i.b].predefined, "`{}` is predefined and cannot be persistent", m_.scalars[i.b].name);
    } else {
      c_.require(in_table(i.b, m_.arrays), "the array {} does not exist", i.b);
      const ArrayRow& array = m_.arrays[i.b];
      c_.require(array.kind == ArrayKind::static_ || is_remote(array.kind), "`{}` is {} and cannot be persistent",
                 array.name, array_kind_text(array.kind));
      // No program says so of arrays that the job gives; but the job may want back what was made of them.
      c_.require(!array.predefined || is_remote(array.kind), "`{}` is predefined and cannot be persistent", array.name);
    }
  }

  void execute(const Instruction& i) const {
    const SpecialRow& special = m_.specials[i.a];
    c_.require(static_cast<std::size_t>(i.c) == special.signature.size(), "`{}` takes {} arguments, {} are given",
               special.name, special.signature.size(), i.c);
    c_.require(std::int64_t{i.b} + i.c <= static_cast<std::int64_t>(m_.args.size()),
               "the arguments {} to {} do not all exist", i.b, std::int64_t{i.b} + i.c - 1);
    static constexpr std::string_view any_array[] = {"blocks_to_list", "list_to_blocks", "array_copy"};
    const bool takes_any = std::find(std::begin(any_array), std::end(any_array), special.name) != std::end(any_array);
    for (std::int32_t k = 0; k < i.c; ++k) {
      const ArgRow& arg = m_.args[i.b + k];
      c_.require(arg.intent == letter_intent(special.signature[k]),
                 "argument {} is passed for {}, `{}` is declared with {}", k + 1, intent_text(arg.intent), special.name,
                 special.signature[k]);
      if (arg.kind == ArgKind::block) operand(arg.id);
      if (arg.kind == ArgKind::array && !takes_any) whole(m_.arrays[arg.id]);
    }
  }

  void device_argument(const ArgRow& arg) const {
    switch (arg.kind) {
      case ArgKind::block: operand(arg.id); break;
      case ArgKind::array: whole(m_.arrays[arg.id]); break;
      case ArgKind::scalar: break;
      default: c_.fail("only a block, a scalar or a whole array can be on a device");
    }
  }

  VerifyContext& c_;
  const Module& m_;
};

}  // namespace

void verify_blocks(VerifyContext& c) {
  BlockRules rules(c);
  for (std::size_t pc = 0; pc < c.m.code.size(); ++pc) {
    c.at(VerifyContext::instruction, pc);
    rules.check(c.m.code[pc]);
    if (c.m.code[pc].op == Opcode::fused) rules.run_of(pc);
  }
  c.at_module();
}

}  // namespace sial::detail
