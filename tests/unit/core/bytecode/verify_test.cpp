// Every rule of the verifier: one broken module each, and the sentence it is refused with. The modules are written and
// read, so that what is refused is refused on the road the interpreter takes; what the writer cannot even write goes to
// verify_module directly.
#include <catch2/catch.hpp>

#include <functional>
#include <limits>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"
#include "sample.h"

using namespace sial;
using Catch::Matchers::Contains;
using test::find;
using test::position;

namespace {

struct Bad {
  const char* message;
  std::function<void(Module&)> breaking;
};

std::string refusal(const Module& m) {
  try {
    verify_module(m, "m.siox");
  } catch (const EnvironmentError& e) { return std::string("a world error: ") + e.what(); } catch (const SialError& e) {
    return e.what();
  }
  return "accepted";
}

void check_all(const std::vector<Bad>& cases) {
  for (const Bad& bad : cases) {
    Module m = test::sample_module();
    bad.breaking(m);
    CAPTURE(bad.message);
    CHECK_THAT(refusal(m), Contains(bad.message));
    CHECK_THAT(refusal(m), Contains("`m.siox` is not a valid sialx module: "));
  }
}

RefRow& ref_of(Module& m, Opcode op, int nth = 0) { return m.refs[find(m, op, nth).a]; }

}  // namespace

TEST_CASE("the sample itself is valid") {
  CHECK(refusal(test::sample_module()) == "accepted");
  CHECK(refusal(test::empty_module()) == "accepted");
}

TEST_CASE("remarks and slices") {
  check_all({
      {"remark 0: there is no kind of remark 3", [](Module& m) { m.remarks[0].kind = static_cast<RemarkKind>(3); }},
      {"remark 0: the array 99 does not exist", [](Module& m) { m.remarks[0].array = ArrayId(99); }},
      {"remark 0: it names source file 7", [](Module& m) { m.remarks[0].place.file = 7; }},
      {"remark 0: line 0, column 1 is no place", [](Module& m) { m.remarks[0].place.line = 0; }},
      {"a cost names index 99", [](Module& m) { m.remarks[0].bytes.terms[0].factors[0].index = IndexId(99); }},
      {"has the coefficient nan",
       [](Module& m) { m.remarks[0].bytes.terms[0].coefficient = std::numeric_limits<double>::quiet_NaN(); }},
      {"the terms of a cost are not in order",
       [](Module& m) { std::swap(m.remarks[0].executions.terms[0], m.remarks[0].executions.terms[1]); }},
      {"slice 0: the loop 99 does not exist", [](Module& m) { m.slices[0].loop = 99; }},
      {"slice 0: there is no action 6", [](Module& m) { m.slices[0].steps[0].action = static_cast<SliceAction>(6); }},
      {"slice 0: step 1 is not behind", [](Module& m) { m.slices[0].steps[1].pc = m.slices[0].steps[0].pc; }},
      {"step 1 is at instruction 9999", [](Module& m) { m.slices[0].steps[1].pc = 9999; }},
      {"loop 0 has two slices", [](Module& m) { m.slices.push_back(m.slices[0]); }},
  });
}

TEST_CASE("tables") {
  check_all({
      {"the name is empty", [](Module& m) { m.program.clear(); }},
      {"int 1: the name is empty", [](Module& m) { m.ints[1].name.clear(); }},
      {"scalar 0: the name is not a lower-case identifier", [](Module& m) { m.scalars[0].name = "X Y"; }},
      {"index 0: the name has 1001 characters", [](Module& m) { m.indices[0].name = std::string(1001, 'a'); }},
      {"string 0: the text has", [](Module& m) { m.strings[0] = std::string(2000000, 'a'); }},
      {"its source hash is not a SHA-256", [](Module& m) { m.source_hash = "abc"; }},
      {"its optimisation level is -1", [](Module& m) { m.optimisation = -1; }},
      {"it names no source file", [](Module& m) { m.files.clear(); }},
      {"it has no code", [](Module& m) { m.code.clear(); }},
      {"source places", [](Module& m) { m.places.pop_back(); }},
      {"source place 3: it names source file 1, which does not exist", [](Module& m) { m.places[3].file = 1; }},
      {"source place 3: line 0, column 3 is no place", [](Module& m) { m.places[3].line = 0; }},
      {"1 int registers for 2 variables", [](Module& m) { m.n_int_registers = 1; }},
      {"scalar registers for 2 variables", [](Module& m) { m.n_scalar_registers = 1 << 30; }},
      {"index 3: there is no index kind 1000", [](Module& m) { m.indices[3].kind = static_cast<IndexKind>(1000); }},
      {"index 3: only a subindex has a parent", [](Module& m) { m.indices[3].parent = IndexId(0); }},
      {"index 4: the parent index 9 does not exist", [](Module& m) { m.indices[4].parent = IndexId(9); }},
      {"index 4: the parent `ii` is itself a subindex", [](Module& m) { m.indices[4].parent = IndexId(4); }},
      {"index 4: a subindex has no bounds", [](Module& m) { m.indices[4].lo.symbolic = true; }},
      {"a bound names int 5, which does not exist", [](Module& m) { m.indices[0].hi.value = 5; }},
      {"a bound names int `n`, which is not predefined", [](Module& m) { m.indices[0].hi.value = 1; }},
      {"the bound 0 of a segment index is below 1", [](Module& m) { m.indices[2].lo.value = 0; }},
      {"the range 4:3 is empty", [](Module& m) { m.indices[2].lo.value = 4; }},
      {"there is no array kind 7", [](Module& m) { m.arrays[0].kind = static_cast<ArrayKind>(7); }},
      {"`t` has 0 dimensions, 1 to 8 are possible", [](Module& m) { m.arrays[0].dims.clear(); }},
      {"`t` has 9 dimensions, 1 to 8 are possible", [](Module& m) { m.arrays[0].dims.assign(9, IndexId(0)); }},
      {"a dimension of `t` is index 5, which does not exist", [](Module& m) { m.arrays[0].dims[1] = IndexId(5); }},
      {"`st` is stored as a whole and cannot have the subindex `ii`",
       [](Module& m) { m.arrays[3].dims[0] = IndexId(4); }},
      {"`t` is predefined but not static", [](Module& m) { m.arrays[0].predefined = true; }},
      {"`t` is sparse but neither distributed nor served", [](Module& m) { m.arrays[0].sparse = true; }},
      {"`f` takes 9 arguments, at most 8 are possible", [](Module& m) { m.specials[0].signature = "rrrrrrrrr"; }},
      {"the signature of `f` has letters other than r, w and u", [](Module& m) { m.specials[0].signature = "rx"; }},
  });
}

TEST_CASE("loop rows") {
  check_all({
      {"there is no loop kind 3", [](Module& m) { m.loops[0].kind = static_cast<LoopKind>(3); }},
      {"the loop has 0 indices, 1 to 8 are possible", [](Module& m) { m.loops[0].indices.clear(); }},
      {"the loop has 2 indices, 1 to 1 are possible", [](Module& m) { m.loops[1].indices = {IndexId(0), IndexId(1)}; }},
      {"the loop runs over index 12, which does not exist", [](Module& m) { m.loops[0].indices[1] = IndexId(12); }},
      {"a segment loop cannot run over `ii`", [](Module& m) { m.loops[0].indices[1] = IndexId(4); }},
      {"the loop runs twice over `i`", [](Module& m) { m.loops[0].indices[1] = IndexId(0); }},
      {"the loop has -1 where clauses", [](Module& m) { m.loops[0].n_wheres = -1; }},
      {"the pragma names string 44, which does not exist", [](Module& m) { m.loops[0].pragma = 44; }},
      {"loop 0 is of another kind",
       [](Module& m) {
         m.loops[0].kind = LoopKind::do_;
         m.loops[0].indices = {IndexId(0)};
         m.loops[0].pragma = -1;
       }},
  });
}

TEST_CASE("references, regions and arguments") {
  check_all({
      {"block reference 1: the array 99 does not exist", [](Module& m) { m.refs[1].array = ArrayId(99); }},
      {"there is no intent 5", [](Module& m) { m.refs[1].intent = static_cast<Intent>(5); }},
      {"`t` has 2 dimensions but is referenced with 1 entries", [](Module& m) { m.refs[1].entries.pop_back(); }},
      {"entry 1 of `l` is both `*` and (index)", [](Module& m) { m.refs[0].entries[0].as_simple = true; }},
      {"entry 2 of `t` is index 20, which does not exist", [](Module& m) { m.refs[1].entries[1].index = IndexId(20); }},
      {"entry 2 of `t` is of kind index, the array was declared with aoindex",
       [](Module& m) { m.refs[1].entries[1].index = IndexId(3); }},
      {"entry 1 of `small` must be a subindex, `i` is none",
       [](Module& m) { ref_of(m, Opcode::block_slice).entries[0].index = IndexId(0); }},
      {"the subindex `ii` has no value as a simple index",
       [](Module& m) { m.refs[find(m, Opcode::block_slice).b].entries[0].as_simple = true; }},
      {"region 0: `t` is temp, regions exist only of contiguous locals",
       [](Module& m) { m.regions[0].array = ArrayId(0); }},
      {"`c` has 2 dimensions but its region has 2 and 1 bounds", [](Module& m) { m.regions[0].hi.pop_back(); }},
      {"a bound is in int register 4, which does not exist", [](Module& m) { m.regions[0].hi[0] = 4; }},
      {"there is no argument kind 6", [](Module& m) { m.args[0].kind = static_cast<ArgKind>(6); }},
      {"argument 0: the block reference 999 does not exist", [](Module& m) { m.args[0].id = 999; }},
      {"the argument's intent is write, its block reference's read",
       [](Module& m) { m.args[0].intent = Intent::write; }},
      {"the scalar 2 does not exist", [](Module& m) { m.args[1].id = 2; }},
      {"the array -1 does not exist", [](Module& m) { m.args[2].id = -1; }},
      {"the literal 1 does not exist", [](Module& m) { m.args[1] = {ArgKind::real_literal, 1, Intent::write}; }},
      {"the region 77 does not exist", [](Module& m) { m.args[0] = {ArgKind::region, 77, Intent::read}; }},
  });
}

TEST_CASE("operands") {
  check_all({
      {"there is no opcode 9", [](Module& m) { m.code[0].op = static_cast<Opcode>(9); }},
      {"(create): operand b is unused but has the value 1", [](Module& m) { find(m, Opcode::create).b = 1; }},
      {"operand a is int register 4, which does not exist", [](Module& m) { find(m, Opcode::int_const).a = 4; }},
      {"operand a is scalar register -1, which does not exist", [](Module& m) { find(m, Opcode::real_const).a = -1; }},
      {"operand b is literal 1, which does not exist", [](Module& m) { find(m, Opcode::real_const).b = 1; }},
      {"operand a is scalar 2, which does not exist", [](Module& m) { find(m, Opcode::collective_sum).a = 2; }},
      {"operand a is string 4, which does not exist", [](Module& m) { find(m, Opcode::print_string).a = 4; }},
      {"operand c is string -2, which does not exist", [](Module& m) { find(m, Opcode::print_int).c = -2; }},
      {"operand a is code position", [](Module& m) { find(m, Opcode::jump).a = 100000; }},
      {"operand a is loop 77, which does not exist", [](Module& m) { find(m, Opcode::do_begin).a = 77; }},
      {"operand a is procedure 1, which does not exist", [](Module& m) { find(m, Opcode::call).a = 1; }},
      {"operand b is index 5, which does not exist", [](Module& m) { find(m, Opcode::int_index).b = 5; }},
      {"operand a is array 10, which does not exist", [](Module& m) { find(m, Opcode::create).a = 10; }},
      {"operand a is block reference", [](Module& m) { find(m, Opcode::get).a = 1000; }},
      {"operand a is region 9", [](Module& m) { find(m, Opcode::region_put).a = 9; }},
      {"operand a is special 3", [](Module& m) { find(m, Opcode::execute).a = 3; }},
      {"operand b is argument 6", [](Module& m) { find(m, Opcode::execute).b = 6; }},
      {"operand d is comparison 6", [](Module& m) { find(m, Opcode::int_compare).d = 6; }},
      {"operand c is assignment operator 4", [](Module& m) { find(m, Opcode::put_block).c = 4; }},
      {"operand a is a flag but has the value 2", [](Module& m) { find(m, Opcode::barrier).a = 2; }},
      {"operand c is a count but has the value -1", [](Module& m) { find(m, Opcode::execute).c = -1; }},
  });
}

TEST_CASE("parts of the code") {
  check_all({
      {"the main body begins at -1, outside the code", [](Module& m) { m.main_entry = -1; }},
      {"instruction 0 belongs to none", [](Module& m) { m.main_entry = 1; }},
      {"the main body has no end", [](Module& m) { find(m, Opcode::halt).op = Opcode::stop; }},
      {"procedure 0: its code", [](Module& m) { m.procs[0].end = 5000; }},
      {"its last instruction is not ret", [](Module& m) { m.procs[0].end -= 3; }},
      {"belongs to none of the main body and the procedures", [](Module& m) { m.procs[0].entry += 1; }},
      {"belongs to several of the main body and the procedures", [](Module& m) { m.procs[0].entry -= 2; }},
      {"belongs to several", [](Module& m) { m.procs.push_back(m.procs[0]); }},
      {"belongs to none",
       [](Module& m) {
         m.procs.clear();
         find(m, Opcode::call).op = Opcode::gpu_on;
       }},
      {"(ret): the main body cannot return", [](Module& m) { find(m, Opcode::create) = {Opcode::ret, 0, 0, 0, 0}; }},
      {"(halt): the end of the main body lies in a procedure",
       [](Module& m) { find(m, Opcode::ret) = {Opcode::halt, 0, 0, 0, 0}; }},
  });
}

TEST_CASE("loops in the code") {
  check_all({
      {"loop 0 begins at 5", [](Module& m) { m.loops[0].begin = 5; }},
      {"which is no loop inside of what surrounds it",
       [](Module& m) {
         m.loops[0].next = 5000;
         m.loops[0].end = 5001;
       }},
      {"which is no loop inside", [](Module& m) { m.loops[0].end += 1; }},
      {"which is no loop inside", [](Module& m) { m.loops[0].next = std::numeric_limits<std::int32_t>::max(); }},
      {"which is no loop inside",
       [](Module& m) {
         m.loops[2].next = m.loops[1].next;
         m.loops[2].end = m.loops[1].end;
       }},
      {"(body_begin): it may not stand",
       [](Module& m) {
         m.code[m.loops[0].body + 1] = m.code[m.loops[0].body];
         m.loops[0].body += 2;
       }},
      {"the body of loop 0 does not begin with body_begin",
       [](Module& m) { m.code[m.loops[0].body] = {Opcode::int_const, 2, 1, 0, 0}; }},
      {"the body of loop 0 begins at", [](Module& m) { m.code[m.loops[0].body + 1] = m.code[m.loops[0].body]; }},
      {"loop 0 has 1 where clauses, its row says 2", [](Module& m) { m.loops[0].n_wheres = 2; }},
      {"the instruction before the body of loop 0 is not a where clause",
       [](Module& m) { std::swap(find(m, Opcode::where), find(m, Opcode::int_compare)); }},
      {"(barrier): it may not stand between the head of a loop and its body",
       [](Module& m) { find(m, Opcode::int_compare) = {Opcode::barrier, 0, 0, 0, 0}; }},
      {"(where): a where clause outside the head of a loop",
       [](Module& m) { find(m, Opcode::create) = {Opcode::where, 1, 0, 0, 0}; }},
      {"(where): loop 1 is not the innermost one here", [](Module& m) { find(m, Opcode::where).b = 1; }},
      {"(exit_loop): loop 0 is not the innermost one here", [](Module& m) { find(m, Opcode::exit_loop).a = 0; }},
      {"(do_next): loop 3 is not the innermost one here", [](Module& m) { find(m, Opcode::do_next, 1).a = 3; }},
      {"loop 0 ends at",
       [](Module& m) {
         m.loops[0].next -= 1;
         m.loops[0].end -= 1;
       }},
      {"loop 9 is still open at the end",
       [](Module& m) {
         find(m, Opcode::section_begin).op = Opcode::gpu_on;
         find(m, Opcode::section_end).op = Opcode::gpu_off;
         find(m, Opcode::pardo_next, 1) = {Opcode::gpu_on, 0, 0, 0, 0};
         m.loops[9].next = position(m, Opcode::halt);
         m.loops[9].end = m.loops[9].next + 1;
       }},
      {"loop 10 has no code", [](Module& m) { m.loops.push_back(m.loops[1]); }},
      {"only parallel loops may stand in a section",
       [](Module& m) { find(m, Opcode::barrier) = {Opcode::section_begin, 0, 0, 0, 0}; }},
      {"the end of a section that does not begin",
       [](Module& m) { find(m, Opcode::create) = {Opcode::section_end, 0, 0, 0, 0}; }},
  });
}

TEST_CASE("jumps") {
  check_all({
      {"the target 0 is not ahead", [](Module& m) { find(m, Opcode::jump).a = 0; }},
      {"(jump): the target", [](Module& m) { find(m, Opcode::jump).a = position(m, Opcode::jump); }},
      {"is in another loop", [](Module& m) { find(m, Opcode::jump).a = position(m, Opcode::barrier); }},
      {"is in another loop",
       [](Module& m) { find(m, Opcode::create) = {Opcode::jump, position(m, Opcode::block_fill), 0, 0, 0}; }},
      {"is in another procedure",
       [](Module& m) { find(m, Opcode::create) = {Opcode::jump, m.procs[0].entry, 0, 0, 0}; }},
      {"is in another section",
       [](Module& m) { find(m, Opcode::create) = {Opcode::jump, position(m, Opcode::section_end), 0, 0, 0}; }},
  });
}

TEST_CASE("block operations") {
  check_all({
      {"operand a is referenced for read, the instruction needs write",
       [](Module& m) { ref_of(m, Opcode::block_fill).intent = Intent::read; }},
      {"operand a is referenced for write, the instruction needs update",
       [](Module& m) { find(m, Opcode::block_contract).d = 1; }},
      {"`v[(index)i]` and `v[s]`",
       [](Module& m) {
         const std::int32_t pc = position(m, Opcode::real_element);
         m.refs.push_back({ArrayId(5), Intent::read, {{IndexId(0), true}}});
         m.code[pc] = {Opcode::real_contract, 2, static_cast<std::int32_t>(m.refs.size()) - 1, m.code[pc].b, 0};
       }},
      {"is not a single element",
       [](Module& m) { find(m, Opcode::real_element).b = find(m, Opcode::real_contract).b; }},
      {"has an index twice", [](Module& m) { m.refs[find(m, Opcode::real_contract).b].entries[1].index = IndexId(0); }},
      {"has an index twice", [](Module& m) { m.refs[find(m, Opcode::real_contract).c].entries[0].index = IndexId(0); }},
      {"do not have the same indices",
       [](Module& m) { m.refs[find(m, Opcode::real_contract).b].entries[1].index = IndexId(2); }},
      {"`l[*,*]` denotes a set of blocks",
       [](Module& m) {
         m.code[position(m, Opcode::allocate)] = {Opcode::block_fill, find(m, Opcode::allocate).a, 0, 0, 0};
       }},
      {"`t[ii,j]` denotes a part of a block",
       [](Module& m) {
         m.refs[find(m, Opcode::block_slice).b].intent = Intent::write;
         find(m, Opcode::block_slice) = {Opcode::block_fill, find(m, Opcode::block_slice).b, 0, 0, 0};
       }},
      {"can only be used through regions", [](Module& m) { ref_of(m, Opcode::block_fill).array = ArrayId(2); }},
      {"cannot be copied to", [](Module& m) { m.refs[find(m, Opcode::block_copy).b].entries[0].index = IndexId(2); }},
      {"the assignment operator 3 is not possible here", [](Module& m) { find(m, Opcode::block_accumulate).c = 3; }},
      {"the assignment operator 0 is not possible here", [](Module& m) { find(m, Opcode::block_sum).d = 0; }},
      {"are no permutation of each other",
       [](Module& m) {
         m.refs[find(m, Opcode::block_accumulate).b].entries[0].index = IndexId(2);
         find(m, Opcode::block_accumulate).b = find(m, Opcode::block_contract, 0).b;
       }},
      {"has 2 indices, the product of",
       [](Module& m) {
         m.refs[find(m, Opcode::block_contract).b].entries[1].index = IndexId(1);
         m.refs[find(m, Opcode::block_contract).c].entries[0].index = IndexId(0);
       }},
      {"must occur in exactly one of",
       [](Module& m) { ref_of(m, Opcode::block_contract).entries[1].index = IndexId(2); }},
      {"the indices of `t[ii,i]` and `small[ii,j]` are not the same",
       [](Module& m) { m.refs[find(m, Opcode::block_slice).b].entries[1].index = IndexId(0); }},
      {"has no memory of its own to share",
       [](Module& m) { find(m, Opcode::block_alias).b = find(m, Opcode::contract_scaled).b; }},
      {"`t[j,i]` and `d[i,j]` do not agree in order",
       [](Module& m) { find(m, Opcode::block_alias).a = find(m, Opcode::block_copy).a; }},
      {"only temps and locals share memory",
       [](Module& m) { find(m, Opcode::put_move).b = find(m, Opcode::contract_scaled).b; }},
      {"only temps are freed before the end of their iteration",
       [](Module& m) { find(m, Opcode::free_block).a = find(m, Opcode::put_move).a; }},
      {"has 2 indices, the product of",
       [](Module& m) { find(m, Opcode::contract_scaled).b = find(m, Opcode::contract_scaled).c; }},
      {"denotes no part of a block",
       [](Module& m) { m.refs[find(m, Opcode::block_slice).b].entries[0].index = IndexId(0); }},
      {"are not declared over the same kinds of index",
       [](Module& m) { m.refs[find(m, Opcode::region_put).b] = m.refs[find(m, Opcode::real_element).b]; }},
  });
}

TEST_CASE("runs of element-wise statements") {
  const auto at = [](Module& m, int k) -> Instruction& {
    return m.code[static_cast<std::size_t>(position(m, Opcode::fused) + k)];
  };
  check_all({
      {"1 instructions behind it cannot be one pass", [&](Module& m) { at(m, 0).a = 1; }},
      {"999 instructions behind it cannot be one pass", [&](Module& m) { at(m, 0).a = 999; }},
      {"the instruction 4 behind it is no work on elements", [&](Module& m) { at(m, 0).a = 4; }},
      {"the instructions behind it work on `t[j,i]` and another block",
       [&](Module& m) { at(m, 3).a = find(m, Opcode::block_copy).a, at(m, 3).op = Opcode::block_fill; }},
      {"`t[i,i]` has an index twice",
       [&](Module& m) {
         m.refs[at(m, 1).a].entries[1] = m.refs[at(m, 1).a].entries[0];
         m.refs[at(m, 3).a].entries[1] = m.refs[at(m, 3).a].entries[0];
       }},
  });
}

TEST_CASE("arrays and arguments of statements") {
  check_all({
      {"`st` is static, only local arrays are allocated",
       [](Module& m) { ref_of(m, Opcode::allocate).array = ArrayId(3); }},
      {"`t` is temp, neither distributed nor served", [](Module& m) { find(m, Opcode::create).a = 0; }},
      {"`t` is temp, neither distributed nor served", [](Module& m) { ref_of(m, Opcode::get).array = ArrayId(0); }},
      {"`t` is temp, neither distributed nor served",
       [](Module& m) { ref_of(m, Opcode::put_scalar).array = ArrayId(0); }},
      {"the assignment operator 2 is not possible here", [](Module& m) { find(m, Opcode::put_block).c = 2; }},
      {"`t` is temp, neither distributed nor served",
       [](Module& m) { ref_of(m, Opcode::put_combined).array = ArrayId(0); }},
      {"`t` is temp, neither distributed nor served",
       [](Module& m) { find(m, Opcode::put_alias).b = find(m, Opcode::put_combined).b; }},
      {"do not agree in order",
       [](Module& m) {
         m.refs[find(m, Opcode::put_alias).b].entries = {m.refs[find(m, Opcode::put_alias).a].entries[1],
                                                         m.refs[find(m, Opcode::put_alias).a].entries[0]};
       }},
      {"`t` is temp, neither distributed nor served", [](Module& m) { find(m, Opcode::keep_copies).a = 0; }},
      {"3 is no way to keep copies", [](Module& m) { find(m, Opcode::keep_copies).b = 3; }},
      {"do not agree in order",
       [](Module& m) { std::swap(ref_of(m, Opcode::put_block).entries[0], ref_of(m, Opcode::put_block).entries[1]); }},
      {"`d` is distributed, only static arrays are broadcast", [](Module& m) { find(m, Opcode::broadcast).b = 4; }},
      {"the scalar 12 does not exist", [](Module& m) { find(m, Opcode::set_persistent).b = 12; }},
      {"`given` is predefined and cannot be persistent", [](Module& m) { find(m, Opcode::set_persistent).b = 1; }},
      {"the array 12 does not exist", [](Module& m) { find(m, Opcode::restore_persistent).b = 12; }},
      {"`l` is local and cannot be persistent", [](Module& m) { find(m, Opcode::restore_persistent).b = 1; }},
      {"`table` is predefined and cannot be persistent", [](Module& m) { find(m, Opcode::restore_persistent).b = 8; }},
      {"the subindex `ii` has no value", [](Module& m) { find(m, Opcode::print_index).a = 4; }},
      {"the subindex `ii` has no value", [](Module& m) { find(m, Opcode::int_index).b = 4; }},
      {"`d` is distributed, only static and contiguous arrays can be used as a whole",
       [](Module& m) { find(m, Opcode::print_array).a = 4; }},
      {"`f` takes 2 arguments, 1 are given", [](Module& m) { find(m, Opcode::execute).c = 1; }},
      {"do not all exist", [](Module& m) { find(m, Opcode::execute, 1).b = 4; }},
      {"argument 2 is passed for write, `f` is declared with u", [](Module& m) { m.specials[0].signature = "ru"; }},
      {"only static and contiguous arrays can be used as a whole", [](Module& m) { m.specials[2].name = "other"; }},
      {"the argument 5 does not exist", [](Module& m) { find(m, Opcode::gpu_put).a = 5; }},
      {"only a block, a scalar or a whole array can be on a device",
       [](Module& m) { m.args[2] = {ArgKind::int_literal, 3, Intent::read}; }},
  });
}

TEST_CASE("indices have values where they are used") {
  check_all({
      {"(block_fill): the index `k` has no value here",
       [](Module& m) { ref_of(m, Opcode::block_fill).entries[1].index = IndexId(2); }},
      {"(int_index): the index `k` has no value here", [](Module& m) { find(m, Opcode::int_index).b = 2; }},
      {"(print_index): the index `k` has no value here", [](Module& m) { find(m, Opcode::print_index).a = 2; }},
      {"a loop over `i` inside of a loop over it", [](Module& m) { m.loops[3].indices[0] = IndexId(0); }},
      {"the index `i` has no value here", [](Module& m) { find(m, Opcode::create) = {Opcode::call, 0, 0, 0, 0}; }},
      {"(execute): the index `k` has no value here",
       [](Module& m) { m.refs[m.args[0].id].entries[0].index = IndexId(2); }},
      {"(pardo_begin): a parallel loop inside of a parallel loop",
       [](Module& m) {
         m.loops[1].kind = LoopKind::pardo, m.loops[2].kind = LoopKind::pardo;
         m.code[m.loops[1].begin].op = Opcode::pardo_begin, m.code[m.loops[2].begin].op = Opcode::pardo_begin;
         m.code[m.loops[1].next].op = Opcode::pardo_next, m.code[m.loops[2].next].op = Opcode::pardo_next;
       }},
      {"(barrier): a barrier inside of a parallel loop",
       [](Module& m) { find(m, Opcode::int_neg) = {Opcode::barrier, 0, 0, 0, 0}; }},
      {"(barrier): a barrier inside of a parallel loop",
       [](Module& m) {
         find(m, Opcode::int_neg) = {Opcode::call, 0, 0, 0, 0};
         find(m, Opcode::block_scale, 1) = {Opcode::barrier, 0, 0, 0, 0};
       }},
      {"the parent of `ii` has no value here", [](Module& m) { m.indices[4].parent = IndexId(2); }},
  });
}

TEST_CASE("a refused module is refused the same way when read from its file form") {
  Module m = test::sample_module();
  find(m, Opcode::exit_loop).a = 0;
  CHECK_THROWS_WITH(read_module(write_module(m), "m.siox"), Contains("loop 0 is not the innermost one here"));
}

TEST_CASE("procedures may call each other in circles without confusing the verifier") {
  Module m = test::sample_module();
  find(m, Opcode::block_scale, 1) = {Opcode::call, 0, 0, 0, 0};
  m.slices.clear();  // which allow no recursion
  CHECK(refusal(m) == "accepted");
}

TEST_CASE("accepted corner cases of block algebra") {
  const auto accepted = [](auto change) {
    Module m = test::sample_module();
    change(m);
    CHECK(refusal(m) == "accepted");
  };
  // d[i,i] = st[i,j]: repeated target; d[i,i] += st[i,i]: same lists; t[i,j] = t3[i,j,s]: a trailing simple index
  // dropped
  accepted([](Module& m) { ref_of(m, Opcode::block_copy).entries = {{IndexId(0), false}, {IndexId(0), false}}; });
  accepted([](Module& m) {
    ref_of(m, Opcode::block_accumulate).entries[1].index = IndexId(0);
    m.refs[find(m, Opcode::block_accumulate).b].entries[0].index = IndexId(0);
  });
  accepted([](Module& m) {
    Instruction& copy = find(m, Opcode::block_copy, 1);
    std::swap(copy.a, copy.b);
    m.refs[copy.a].intent = Intent::write;
    m.refs[copy.b].intent = Intent::read;
  });
}
