#include "compiler/sema/super_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/each_stmt.h"
#include "compiler/sema/text.h"

namespace sial::sema {

namespace {

/// One dimension of an argument as the program gives it.
struct ArgumentDimension {
  std::string text;            // of the index
  SymbolId index = no_symbol;  // whose range it is
  ast::IndexKind kind = ast::IndexKind::simple;
  OrbitalRange side = OrbitalRange::any;  // occupied or virtual, where the range's names leave no doubt
};

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

OrbitalRange side_of(const CheckedProgram& program, const Symbol& index) {
  if (index.kind == SymbolKind::subindex) return side_of(program, program.symbol(index.parent));
  const auto name = [&](const BoundValue& bound) {
    return bound.symbol == no_symbol ? std::string_view() : std::string_view(program.symbol(bound.symbol).name);
  };
  if (!one_of(index_word(index.index_kind), {"moindex", "moaindex", "mobindex"}))
    return OrbitalRange::any;  // a simple index counts orbitals, or anything
  if (one_of(name(index.hi), {"eaocc", "ebocc", "eocc"})) return OrbitalRange::occupied;
  if (one_of(name(index.lo), {"bavirt", "bbvirt", "bvirt"})) return OrbitalRange::virtual_;
  return OrbitalRange::any;
}

std::string bound_text(const CheckedProgram& program, const BoundValue& bound) {
  return bound.symbol == no_symbol ? fmt::format("{}", bound.literal) : program.symbol(bound.symbol).text;
}

class SuperCalls {
 public:
  SuperCalls(const CheckedProgram& program, Emitter& emitter) : program_(program), emitter_(emitter) {}

  void check(const ast::Execute& execute) {
    const SuperPage* page = find_super_page(program_.symbol_of(execute.special).name);
    if (page == nullptr) return;
    const std::size_t n = std::min(execute.args.size(), page->arguments.size());
    std::vector<std::vector<ArgumentDimension>> actual(n);
    for (std::size_t k = 0; k < n; ++k) actual[k] = dimensions(execute.args[k]);
    for (std::size_t k = 0; k < n; ++k) {
      const ArgumentRule& rule = page->arguments[k];
      if (actual[k].empty()) continue;
      if (!rule.accepts_rank(static_cast<int>(actual[k].size()))) report_rank(execute, k, rule, actual[k].size());
      else if (!check_ranges(execute, k, rule, actual)) return;
    }
    check_equal(execute, *page, actual);
  }

 private:
  std::vector<ArgumentDimension> dimensions(const ast::Arg& arg) const {
    const ast::Name* array = nullptr;
    std::vector<Label> labels;
    if (const auto* block = std::get_if<ast::Block>(&arg.node)) {
      array = &block->array;
      for (const ast::BlockIndex& index : block->indices)
        labels.push_back({program_.names.at(&index.index), index.as_simple});
    } else if (const auto* region = std::get_if<ast::Region>(&arg.node)) {
      array = &region->array;
    } else {
      array = std::get_if<ast::Name>(&arg.node);
    }
    if (array == nullptr || program_.symbol_of(*array).kind != SymbolKind::array) return {};
    const Symbol& symbol = program_.symbol_of(*array);
    std::vector<ArgumentDimension> result;
    for (std::size_t d = 0; d < symbol.dims.size(); ++d) {
      const Symbol& declared = program_.symbol(symbol.dims[d]);
      const Symbol& used = labels.empty() ? declared : program_.symbol(labels[d].index);
      ArgumentDimension one{used.text, used.id, used.index_kind, side_of(program_, used)};
      if (!labels.empty() && labels[d].simple)
        one = {"(index)" + used.text, used.id, ast::IndexKind::simple, OrbitalRange::any};
      else if (one.side == OrbitalRange::any && used.index_kind == declared.index_kind)
        one.side = side_of(program_, declared);
      result.push_back(std::move(one));
    }
    return result;
  }

  std::string argument_text(const ast::Arg& arg, const std::vector<ArgumentDimension>& actual) const {
    if (const auto* name = std::get_if<ast::Name>(&arg.node)) return name->text;
    if (const auto* region = std::get_if<ast::Region>(&arg.node)) return region->array.text;
    return std::get<ast::Block>(arg.node).array.text + order_text(actual);
  }

  static std::string order_text(const std::vector<ArgumentDimension>& actual) {
    std::string text = "[";
    for (std::size_t d = 0; d < actual.size(); ++d) text += (d > 0 ? "," : "") + actual[d].text;
    return text + "]";
  }

  static std::string see(const ast::Execute& execute) {
    return fmt::format("`sialc --explain {}` says what each dimension must be", execute.special.text);
  }

  void report_rank(const ast::Execute& execute, std::size_t k, const ArgumentRule& rule, std::size_t rank) {
    emitter_.report(
        Code::W_SUPER_ARGUMENT, execute.args[k].span,
        fmt::format("argument {} of `{}` is {}[{}], but this array has {} dimension{}: a run that comes here stops",
                    k + 1, execute.special.text, rule.name, rule.dimensions, rank, rank == 1 ? "" : "s"),
        see(execute));
  }

  /// The objection to dimension `d`: nothing, doubt, or certainty.
  enum class Fault { none, doubt, certain };
  static Fault fault(const DimensionRule& rule, const std::vector<ArgumentDimension>& dimensions, std::size_t d,
                     const std::vector<ArgumentDimension>& first) {
    const ArgumentDimension& actual = dimensions[d];
    const bool ao = actual.kind == ast::IndexKind::ao;
    switch (rule.range) {
      case OrbitalRange::any: return Fault::none;
      case OrbitalRange::ao:
        return ao                                      ? Fault::none
               : rule.strict                           ? Fault::certain
               : actual.kind == ast::IndexKind::simple ? Fault::none
                                                       : Fault::doubt;
      case OrbitalRange::mo: return ao ? Fault::doubt : Fault::none;
      case OrbitalRange::alpha:
      case OrbitalRange::beta: {
        if (ao) return Fault::doubt;
        const ast::IndexKind mine = rule.range == OrbitalRange::alpha ? ast::IndexKind::moa : ast::IndexKind::mob;
        const ast::IndexKind other = rule.range == OrbitalRange::alpha ? ast::IndexKind::mob : ast::IndexKind::moa;
        const bool needed =
            std::any_of(first.begin(), first.end(), [&](const ArgumentDimension& d) { return d.kind == mine; });
        return actual.kind == other && needed ? Fault::doubt : Fault::none;
      }
      case OrbitalRange::occupied:
      case OrbitalRange::virtual_:
        if (ao) return Fault::doubt;
        if (actual.side == OrbitalRange::any || actual.side == rule.range) return Fault::none;
        // Exchanged pairs change a sign, on purpose perhaps, and a single pair may be of one sort where the program
        // leaves out zeros.
        return rule.strict && dimensions.size() > 2 && dimensions[d ^ 1].side == actual.side ? Fault::certain
                                                                                             : Fault::doubt;
    }
    return Fault::none;
  }

  bool check_ranges(const ast::Execute& execute, std::size_t k, const ArgumentRule& rule,
                    const std::vector<std::vector<ArgumentDimension>>& all) {
    const std::vector<ArgumentDimension>& actual = all[k];
    const std::vector<DimensionRule> wanted = rule.of_rank(static_cast<int>(actual.size()));
    Fault found = Fault::none;
    std::size_t d = 0;  // the first dimension with the gravest fault
    for (std::size_t each = 0; each < wanted.size(); ++each)
      if (const Fault one = fault(wanted[each], actual, each, all.front()); one > found) {
        found = one;
        d = each;
      }
    if (found == Fault::none) return true;
    const Symbol& index = program_.symbol(actual[d].index);
    const bool side = actual[d].side != OrbitalRange::any && wanted[d].range != OrbitalRange::ao &&
                      wanted[d].range != OrbitalRange::alpha && wanted[d].range != OrbitalRange::beta;
    const std::string is = side ? fmt::format("runs over {}", range_words(actual[d].side))
                                : fmt::format("is {}", an_index_word(actual[d].kind));
    Diagnostic& diagnostic = emitter_.report(
        found == Fault::certain ? Code::E_SUPER_ARGUMENT : Code::W_SUPER_ARGUMENT, span_of(execute.args[k], d),
        fmt::format("dimension {} of `{}` {}, and `{}` takes it for {}", d + 1, argument_text(execute.args[k], actual),
                    is, execute.special.text, range_words(wanted[d].range)),
        fitting_order(execute, k, wanted, actual));
    const Symbol& whole = index.kind == SymbolKind::subindex ? program_.symbol(index.parent) : index;
    diagnostic.notes.push_back(
        {index.span, fmt::format("`{}` is declared here as {} over {}:{}", index.text, describe(index),
                                 bound_text(program_, whole.lo), bound_text(program_, whole.hi))});
    return false;
  }

  static Span span_of(const ast::Arg& arg, std::size_t dimension) {
    const auto* block = std::get_if<ast::Block>(&arg.node);
    return block ? block->indices[dimension].span : arg.span;
  }

  /// The dimensions in an order that fits, each sort in the order it has: a[i,a,j,b] becomes [a,i,b,j].
  std::string fitting_order(const ast::Execute& execute, std::size_t k, const std::vector<DimensionRule>& wanted,
                            const std::vector<ArgumentDimension>& actual) const {
    const auto* block = std::get_if<ast::Block>(&execute.args[k].node);
    std::vector<bool> taken(actual.size(), false);
    std::vector<ArgumentDimension> order;
    for (const DimensionRule& rule : wanted) {
      std::size_t next = 0;
      while (next < actual.size() && (taken[next] || actual[next].side != rule.range)) ++next;
      if (next == actual.size()) break;
      taken[next] = true;
      order.push_back(actual[next]);
    }
    if (block == nullptr || order.size() != actual.size()) return see(execute);
    return fmt::format(
        "the order {0} fits: copy the block into a temp declared over it, `u{0} = {1}{2}`, and pass that",
        order_text(order), block->array.text, order_text(actual));
  }

  struct Place {
    std::size_t argument = 0, dimension = 0;
  };

  /// Dimensions that the table wants equal, one over occupied and one over virtual orbitals: their extents may happen
  /// to agree.
  void check_equal(const ast::Execute& execute, const SuperPage& page,
                   const std::vector<std::vector<ArgumentDimension>>& actual) {
    std::vector<std::pair<std::string, Place>> first;
    for (std::size_t k = 0; k < actual.size(); ++k) {
      const ArgumentRule& rule = page.arguments[k];
      const std::vector<DimensionRule> dimensions = rule.of_rank(static_cast<int>(actual[k].size()));
      for (std::size_t d = 0; d < actual[k].size(); ++d) {
        const std::string label = d < dimensions.size() ? dimensions[d].label : std::string();
        if (label.empty()) continue;
        const auto known = std::find_if(first.begin(), first.end(), [&](const auto& f) { return f.first == label; });
        if (known == first.end()) first.push_back({label, {k, d}});
        else if (!compare(execute, actual, known->second, {k, d})) return;
      }
      if (rule.same_as.empty()) continue;
      const auto other = std::find_if(page.arguments.begin(), page.arguments.end(),
                                      [&](const ArgumentRule& r) { return r.name == rule.same_as; });
      const auto o = static_cast<std::size_t>(other - page.arguments.begin());
      for (std::size_t d = 0; o < actual.size() && d < std::min(actual[k].size(), actual[o].size()); ++d)
        if (!compare(execute, actual, {o, d}, {k, d})) return;
    }
  }

  bool compare(const ast::Execute& execute, const std::vector<std::vector<ArgumentDimension>>& actual, Place a,
               Place b) {
    const ArgumentDimension &x = actual[a.argument][a.dimension], &y = actual[b.argument][b.dimension];
    if (x.side == OrbitalRange::any || y.side == OrbitalRange::any || x.side == y.side) return true;
    emitter_.report(
        Code::W_SUPER_ARGUMENT, span_of(execute.args[b.argument], b.dimension),
        fmt::format(
            "dimension {} of `{}` runs over {}, and dimension {} of `{}` over {}: `{}` takes them for one range",
            b.dimension + 1, argument_text(execute.args[b.argument], actual[b.argument]), range_words(y.side),
            a.dimension + 1, argument_text(execute.args[a.argument], actual[a.argument]), range_words(x.side),
            execute.special.text),
        see(execute));
    return false;
  }

  const CheckedProgram& program_;
  Emitter& emitter_;
};

}  // namespace

void check_super_calls(const CheckedProgram& program, Emitter& emitter) {
  SuperCalls calls(program, emitter);
  const auto look = [&](const ast::Stmt& stmt) {
    if (const auto* execute = std::get_if<ast::Execute>(&stmt.node)) calls.check(*execute);
  };
  for (const SymbolId id : program.procs) for_each_stmt(program.symbol(id).proc->body, look);
  for (const ast::Module* module : program.bodies) for_each_stmt(module->statements, look);
}

}  // namespace sial::sema
