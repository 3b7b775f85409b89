#include "compiler/ir/tables.h"
#include "compiler/sema/super_table.h"

namespace sial::ir {
namespace {

IndexKind index_kind(ast::IndexKind kind) {
  switch (kind) {
    case ast::IndexKind::ao: return IndexKind::ao;
    case ast::IndexKind::mo: return IndexKind::mo;
    case ast::IndexKind::moa: return IndexKind::moa;
    case ast::IndexKind::mob: return IndexKind::mob;
    case ast::IndexKind::la: return IndexKind::la;
    case ast::IndexKind::simple: break;
  }
  return IndexKind::simple;
}

ArrayKind array_kind(const Symbol& s) {
  switch (s.array_kind) {
    case ast::ArrayKind::static_: return ArrayKind::static_;
    case ast::ArrayKind::temp: return ArrayKind::temp;
    case ast::ArrayKind::local: return s.contiguous ? ArrayKind::contiguous_local : ArrayKind::local;
    case ast::ArrayKind::distributed: return ArrayKind::distributed;
    case ast::ArrayKind::served: break;
  }
  return ArrayKind::served;
}

template <class Row>
std::int32_t add(std::vector<Row>& table, Row row) {
  table.push_back(std::move(row));
  return static_cast<std::int32_t>(table.size()) - 1;
}

}  // namespace

RowOfSymbol make_tables(const CheckedProgram& checked, Program& program) {
  RowOfSymbol rows(checked.symbols.size(), -1);
  const auto bound = [&](const BoundValue& b) {
    return b.symbol == no_symbol ? Bound{false, b.literal} : Bound{true, rows[static_cast<std::size_t>(b.symbol)]};
  };
  // Ints first: bounds name them, and symbols of an imported module may come later than those of its importer.
  for (const Symbol& s : checked.symbols)
    if (s.kind == SymbolKind::int_)
      rows[static_cast<std::size_t>(s.id)] =
          add(program.ints, {s.name, s.predefined, s.predefined ? 0 : s.initial_int});
  for (const Symbol& s : checked.symbols)
    if (s.kind == SymbolKind::index)
      rows[static_cast<std::size_t>(s.id)] =
          add(program.indices, {s.name, index_kind(s.index_kind), bound(s.lo), bound(s.hi), no_index});
  for (const Symbol& s : checked.symbols)
    if (s.kind == SymbolKind::subindex)
      rows[static_cast<std::size_t>(s.id)] =
          add(program.indices, {s.name, IndexKind::sub, {}, {}, IndexId(rows[static_cast<std::size_t>(s.parent)])});
  for (const Symbol& s : checked.symbols) {
    std::int32_t& row = rows[static_cast<std::size_t>(s.id)];
    switch (s.kind) {
      case SymbolKind::scalar:
        row = add(program.scalars, {s.name, s.predefined, s.predefined ? 0.0 : s.initial_scalar});
        break;
      case SymbolKind::array: {
        const ArrayKind kind = array_kind(s);
        ArrayRow array{s.name, kind, s.predefined, s.sparse && is_remote(kind), {}};
        for (const SymbolId d : s.dims) array.dims.push_back(IndexId(rows[static_cast<std::size_t>(d)]));
        row = add(program.arrays, std::move(array));
        break;
      }
      case SymbolKind::special: row = add(program.specials, {s.name, true_letters(s.name, s.signature)}); break;
      default: break;
    }
  }
  for (const SymbolId p : checked.procs) {
    rows[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(program.procs.size());
    program.procs.emplace_back().name = checked.symbol(p).name;
  }
  return rows;
}

}  // namespace sial::ir
