#include "sample.h"

#include "runtime/core/base/check.h"

namespace sial::test {
namespace {

enum Int { norb, n, i2, i3, n_int_registers };
enum Scalar { x, given, s2, n_scalar_registers };
constexpr IndexId i{0}, j{1}, k{2}, s{3}, ii{4};
constexpr ArrayId t{0}, l{1}, c{2}, st{3}, d{4}, v{5}, small{6}, t3{7}, table{8}, sv{9};

class Assembler {
 public:
  Module m;

  std::int32_t add(Opcode op, std::int32_t a = 0, std::int32_t b = 0, std::int32_t c = 0, std::int32_t d = 0) {
    m.code.push_back({op, a, b, c, d});
    m.places.push_back({0, static_cast<std::int32_t>(m.code.size()), 3});
    return static_cast<std::int32_t>(m.code.size()) - 1;
  }

  std::int32_t ref(ArrayId array, Intent intent, std::vector<IndexId> entries) {
    RefRow row{array, intent, {}};
    for (const IndexId e : entries) row.entries.push_back({e, false});
    m.refs.push_back(row);
    return static_cast<std::int32_t>(m.refs.size()) - 1;
  }
  std::int32_t r(ArrayId array, std::vector<IndexId> entries) { return ref(array, Intent::read, std::move(entries)); }
  std::int32_t w(ArrayId array, std::vector<IndexId> entries) { return ref(array, Intent::write, std::move(entries)); }
  std::int32_t u(ArrayId array, std::vector<IndexId> entries) { return ref(array, Intent::update, std::move(entries)); }

  std::int32_t region(Intent intent) {
    m.regions.push_back({c, intent, {n, i2}, {n, i3}});
    return static_cast<std::int32_t>(m.regions.size()) - 1;
  }

  // A loop: its row, the instruction that opens it, and where clauses from `wheres`.
  template <class Wheres, class Body>
  void loop(LoopKind kind, std::vector<IndexId> indices, std::int32_t n_wheres, Wheres wheres, Body body) {
    static constexpr Opcode begin[] = {Opcode::do_begin, Opcode::sub_begin, Opcode::pardo_begin};
    static constexpr Opcode next[] = {Opcode::do_next, Opcode::sub_next, Opcode::pardo_next};
    const auto id = static_cast<std::int32_t>(m.loops.size());
    m.loops.push_back({});
    LoopRow row{kind, std::move(indices), add(begin[static_cast<int>(kind)], id), 0, 0, 0, n_wheres, -1, {}};
    wheres(id);
    row.body = add(Opcode::body_begin, id);
    body(id);
    row.next = add(next[static_cast<int>(kind)], id);
    row.end = row.next + 1;
    m.loops[id] = row;
  }
  template <class Body>
  void loop(LoopKind kind, std::vector<IndexId> indices, Body body) {
    loop(kind, std::move(indices), 0, [](std::int32_t) {}, body);
  }
};

void tables(Module& m) {
  m.program = "sample";
  m.producer = "test";
  m.source_hash = std::string(64, '0');
  m.files = {"sample.sialx"};
  m.strings = {"hello", "label", "default_loop_manager", "x"};
  m.reals = {2.0};
  m.ints = {{"norb", true, 0}, {"n", false, 7}};
  m.scalars = {{"x", false, 1.5}, {"given", true, 0.0}};
  m.n_int_registers = n_int_registers;
  m.n_scalar_registers = n_scalar_registers;
  m.indices = {{"i", IndexKind::ao, {false, 1}, {true, norb}, no_index},
               {"j", IndexKind::ao, {false, 1}, {true, norb}, no_index},
               {"k", IndexKind::ao, {false, 1}, {false, 3}, no_index},
               {"s", IndexKind::simple, {false, -1}, {false, 4}, no_index},
               {"ii", IndexKind::sub, {}, {}, i}};
  m.arrays = {{"t", ArrayKind::temp, false, false, {i, j}},
              {"l", ArrayKind::local, false, false, {i, j}},
              {"c", ArrayKind::contiguous_local, false, false, {i, j}},
              {"st", ArrayKind::static_, false, false, {i, j}},
              {"d", ArrayKind::distributed, false, true, {i, j}},
              {"v", ArrayKind::static_, false, false, {s}},
              {"small", ArrayKind::local, false, false, {ii, j}},
              {"t3", ArrayKind::temp, false, false, {i, j, s}},
              {"table", ArrayKind::static_, true, false, {s}},
              {"sv", ArrayKind::served, false, false, {i, j}}};
  m.specials = {{"f", "rw"}, {"g", ""}, {"array_copy", "rw"}};
}

void inner(Assembler& a) {
  a.add(Opcode::get, a.r(d, {i, j}));
  a.loop(LoopKind::do_, {k}, [&](std::int32_t) {
    a.add(Opcode::block_contract, a.w(t, {i, j}), a.r(st, {i, k}), a.r(st, {k, j}), 0);
    a.add(Opcode::block_contract, a.u(t, {i, j}), a.r(st, {k, i}), a.r(st, {k, j}), 2);
  });
  a.loop(LoopKind::sub, {ii}, [&](std::int32_t) {
    a.add(Opcode::block_slice, a.w(small, {ii, j}), a.r(t, {ii, j}));
    a.add(Opcode::block_scale, a.u(small, {ii, j}), x);
    a.add(Opcode::block_insert, a.u(t, {ii, j}), a.r(small, {ii, j}));
  });
  a.add(Opcode::real_contract, s2, a.r(t, {i, j}), a.r(st, {j, i}));
  a.add(Opcode::block_copy, a.w(t, {j, i}), a.r(st, {i, j}));
  a.add(Opcode::block_accumulate, a.u(t, {i, j}), a.r(st, {j, i}), 1);
  a.add(Opcode::block_scaled_copy, a.w(t, {i, j}), a.r(st, {i, j}), x);
  a.add(Opcode::block_scaled_accumulate, a.u(t, {i, j}), a.r(st, {i, j}), x, 2);
  a.add(Opcode::block_sum, a.w(t, {i, j}), a.r(st, {i, j}), a.r(d, {i, j}), 1);
  a.add(Opcode::block_add_scalar, a.u(t, {i, j}), s2);
  a.loop(LoopKind::do_, {s}, [&](std::int32_t loop) {
    a.add(Opcode::real_element, s2, a.r(v, {s}));
    a.add(Opcode::block_copy, a.w(t3, {i, j, s}), a.r(t, {i, j}));
    a.add(Opcode::real_compare, i2, s2, x, 3);
    const std::int32_t jump = a.add(Opcode::jump_unless, i2);
    a.add(Opcode::exit_loop, loop);
    a.m.code[jump].b = a.add(Opcode::print_index, s.number(), 1);
  });
  a.add(Opcode::allocate_region, a.region(Intent::write));
  a.add(Opcode::region_put, a.region(Intent::write), a.r(t, {i, j}));
  a.add(Opcode::region_get, a.w(t, {i, j}), a.region(Intent::read));
  a.add(Opcode::region_fill, a.region(Intent::write), x);
  a.add(Opcode::deallocate_region, a.region(Intent::write));
  a.m.args.push_back({ArgKind::block, a.r(t, {i, j}), Intent::read});
  a.m.args.push_back({ArgKind::scalar, x, Intent::write});
  a.add(Opcode::execute, 0, 0, 2);
  a.add(Opcode::call, 0);
  a.add(Opcode::print_block, a.r(t, {i, j}), 0);
  a.add(Opcode::inspect_block, a.r(t, {i, j}), 0, 0);
  a.add(Opcode::elements_block, a.r(t, {i, j}), 0, x, i2);
}

// Of the pardo: its where clause and puts. Of the nest over i and j: its get, and the procedure called behind it.
void slices(Module& m) {
  const auto find = [&](Opcode op, std::int32_t from) {
    while (m.code[from].op != op) ++from;
    return from;
  };
  SliceRow pardo{0, {}};
  for (std::int32_t pc = m.loops[0].begin; pc <= m.loops[0].body; ++pc) pardo.steps.push_back({pc, SliceAction::run});
  for (const Opcode op : {Opcode::put_block, Opcode::put_scalar})
    pardo.steps.push_back({find(op, m.loops[0].body), SliceAction::put});
  pardo.steps.push_back({m.loops[0].next, SliceAction::run});
  m.slices.push_back(std::move(pardo));
  SliceRow nest{1, {}};
  for (const std::int32_t l : {1, 2})
    for (const std::int32_t pc : {m.loops[l].begin, m.loops[l].body}) nest.steps.push_back({pc, SliceAction::run});
  nest.steps.push_back({find(Opcode::get, m.loops[1].begin), SliceAction::fetch});
  nest.steps.push_back({find(Opcode::call, m.loops[1].begin), SliceAction::run});
  for (const std::int32_t l : {2, 1}) nest.steps.push_back({m.loops[l].next, SliceAction::run});
  for (const Opcode op : {Opcode::jump_unless, Opcode::ret})
    nest.steps.push_back({find(op, m.procs[0].entry), SliceAction::run});
  m.slices.push_back(std::move(nest));
}

}  // namespace

Module empty_module() {
  Module m;
  m.program = "empty";
  m.producer = "test";
  m.source_hash = std::string(64, 'a');
  m.files = {"empty.sialx"};
  m.code = {{Opcode::halt, 0, 0, 0, 0}};
  m.places = {{0, 2, 1}};
  return m;
}

Module sample_module() {
  Assembler a;
  tables(a.m);
  const auto nothing = [](std::int32_t) {};
  a.add(Opcode::create, d.number());
  a.add(Opcode::allocate, a.w(l, {no_index, no_index}));
  a.add(Opcode::int_const, n, 3);
  a.add(Opcode::real_const, x, 0);
  a.loop(
      LoopKind::pardo, {i, j}, 1,
      [&](std::int32_t loop) {
        a.add(Opcode::int_index, i2, i.number());
        a.add(Opcode::int_index, i3, j.number());
        a.add(Opcode::int_compare, i2, i2, i3, 1);
        a.add(Opcode::where, i2, loop);
      },
      [&](std::int32_t) {
        a.add(Opcode::block_fill, a.w(t, {i, j}), x);
        a.add(Opcode::put_block, a.u(d, {i, j}), a.r(t, {i, j}), 1);
        a.add(Opcode::put_scalar, a.u(sv, {i, j}), x, 3);
        const std::int32_t test = a.add(Opcode::jump_unless, n);
        a.add(Opcode::int_neg, n, n);
        const std::int32_t skip = a.add(Opcode::jump);
        a.m.code[test].b = a.add(Opcode::int_round, n, x);
        a.m.code[skip].a = static_cast<std::int32_t>(a.m.code.size());
      });
  a.m.loops.back().pragma = 2;
  a.add(Opcode::barrier, 0);
  a.loop(LoopKind::do_, {i}, [&](std::int32_t) { a.loop(LoopKind::do_, {j}, [&](std::int32_t) { inner(a); }); });
  a.loop(LoopKind::do_, {i}, [&](std::int32_t) {
    a.loop(LoopKind::do_, {j}, [&](std::int32_t) {
      a.loop(LoopKind::do_, {k}, [&](std::int32_t) {
        a.add(Opcode::expect, a.r(d, {i, j}), 1);
        a.add(Opcode::contract_scaled, a.w(t, {i, j}), a.r(st, {k, i}), a.r(st, {k, j}), x);
        a.add(Opcode::contract_add_scaled, a.u(t, {i, j}), a.r(st, {k, i}), a.r(st, {k, j}), x);
      });
      a.add(Opcode::block_alias, a.w(t, {i, j}), a.r(d, {i, j}));
      a.add(Opcode::put_move, a.w(d, {i, j}), a.r(t, {i, j}));
      a.add(Opcode::keep_block, a.r(t, {i, j}), 1);
      a.add(Opcode::free_block, a.w(t, {i, j}));
      a.add(Opcode::put_combined, a.u(d, {i, j}), a.r(t, {i, j}));
      a.add(Opcode::put_alias, a.w(d, {i, j}), a.r(d, {i, j}));
      a.add(Opcode::fused, 3);
      a.add(Opcode::block_fill, a.w(t, {i, j}), x);
      a.add(Opcode::real_neg, x, x);
      a.add(Opcode::block_add_scalar, a.u(t, {i, j}), x);
    });
  });
  a.add(Opcode::relieve_sums);
  a.add(Opcode::keep_copies, d.number(), 1);
  a.add(Opcode::discard_values, d.number());
  a.add(Opcode::collective_sum, x, s2);
  a.add(Opcode::broadcast, n, st.number());
  a.add(Opcode::set_persistent, 0, x, 1);
  a.add(Opcode::restore_persistent, 1, d.number(), 1);
  a.add(Opcode::section_begin);
  a.loop(LoopKind::pardo, {k}, nothing);
  a.add(Opcode::section_end);
  a.m.args.push_back({ArgKind::array, st.number(), Intent::read});
  a.m.args.push_back({ArgKind::array, d.number(), Intent::read});
  a.m.args.push_back({ArgKind::array, sv.number(), Intent::write});
  a.add(Opcode::gpu_put, 2);
  a.add(Opcode::execute, 2, 3, 2);
  a.add(Opcode::execute, 1, 5, 0);
  a.add(Opcode::print_string, 0, 1);
  a.add(Opcode::print_scalar, x, 0, 3);
  a.add(Opcode::print_int, i2, 0, -1);
  a.add(Opcode::print_array, st.number(), 0);
  a.add(Opcode::inspect_array, st.number(), 0, 1);
  a.add(Opcode::elements_array, st.number(), 1, x, i2);
  a.add(Opcode::erase_array, d.number());
  a.add(Opcode::deallocate, a.w(l, {no_index, no_index}));
  a.add(Opcode::halt);

  ProcRow proc{"p", static_cast<std::int32_t>(a.m.code.size()), 0};
  a.add(Opcode::block_scale, a.u(t, {i, j}), x);
  const std::int32_t test = a.add(Opcode::jump_unless, n);
  a.add(Opcode::ret);
  a.m.code[test].b = a.add(Opcode::ret);
  proc.end = static_cast<std::int32_t>(a.m.code.size());
  a.m.procs = {proc};
  a.m.remarks.push_back({RemarkKind::missed,
                         "some-pass",
                         "some-reason",
                         {0, 1, 1},
                         d,
                         "what and why",
                         "do this",
                         Cost::constant(8) * Cost::extent(i),
                         {},
                         Cost::count(i) * Cost::count(j) + Cost::constant(1)});
  slices(a.m);
  return a.m;
}

std::int32_t position(const Module& m, Opcode op, int nth) {
  for (std::size_t pc = 0; pc < m.code.size(); ++pc)
    if (m.code[pc].op == op && nth-- == 0) return static_cast<std::int32_t>(pc);
  SIAL_CHECK(false, "the sample has no such instruction: {}", static_cast<int>(op));
}

Instruction& find(Module& m, Opcode op, int nth) { return m.code[position(m, op, nth)]; }

}  // namespace sial::test
