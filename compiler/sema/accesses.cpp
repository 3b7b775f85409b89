#include "compiler/sema/accesses.h"

namespace sial::sema {

namespace {

class Collector {
 public:
  Collector(const CheckedProgram& program, std::vector<Access>& list) : program_(program), list_(list) {}

  Access& block(const ast::Block& block) {
    Span span = block.array.span;
    if (!block.indices.empty()) span = cover(span, block.indices.back().span);
    return add(program_.names.at(&block.array), &block, span);
  }

  Access& whole(const ast::Name& array) { return add(program_.names.at(&array), nullptr, array.span); }

  Access& region(const ast::Region& region) {
    for (const ast::SegRange& range : region.ranges) {
      expr(*range.lo);
      expr(*range.hi);
    }
    return whole(region.array);
  }

  void expr(const ast::Expr& e) {
    if (const auto* operand = std::get_if<ast::BlockExpr>(&e.node)) {
      block(operand->block).read = true;
    } else if (const auto* part = std::get_if<ast::RegionExpr>(&e.node)) {
      region(part->region).read = true;
    } else if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
      if (program_.symbol_of(name->name).kind == SymbolKind::array) whole(name->name).read = true;
    } else if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
      expr(*unary->operand);
    } else if (const auto* cast = std::get_if<ast::Cast>(&e.node)) {
      expr(*cast->operand);
    } else if (const auto* binary = std::get_if<ast::Binary>(&e.node)) {
      expr(*binary->left);
      expr(*binary->right);
    } else if (const auto* paren = std::get_if<ast::Paren>(&e.node)) {
      expr(*paren->inner);
    }
  }

  void arg(const ast::Arg& argument, char letter) {
    Access* access = nullptr;
    if (const auto* operand = std::get_if<ast::Block>(&argument.node)) access = &block(*operand);
    else if (const auto* part = std::get_if<ast::Region>(&argument.node)) access = &region(*part);
    else if (const auto* name = std::get_if<ast::Name>(&argument.node);
             name && program_.symbol_of(*name).kind == SymbolKind::array)
      access = &whole(*name);
    if (!access) return;
    access->read = letter != 'w';
    access->write = letter != 'r';
  }

  void stmt(const ast::Stmt& s) {
    if (const auto* assign = std::get_if<ast::AssignBlock>(&s.node)) {
      expr(*assign->value);
      Access& target = block(assign->target);
      target.write = true;
      target.read = assign->op != ast::AssignOp::set;
    } else if (const auto* part = std::get_if<ast::AssignRegion>(&s.node)) {
      expr(*part->value);
      region(part->target).write = true;
    } else if (const auto* scalar = std::get_if<ast::AssignName>(&s.node)) {
      expr(*scalar->value);
    } else if (const auto* put = std::get_if<ast::Put>(&s.node)) {
      expr(*put->value);
      Access& target = block(put->block);
      target.put = true;
      target.op = put->op;
    } else if (const auto* get = std::get_if<ast::Get>(&s.node)) {
      block(get->block).fetch = true;
    } else if (const auto* collective = std::get_if<ast::Collective>(&s.node)) {
      expr(*collective->value);
    } else if (const auto* broadcast = std::get_if<ast::Broadcast>(&s.node)) {
      expr(*broadcast->source);
      whole(broadcast->array).write = true;
    } else if (const auto* print = std::get_if<ast::Print>(&s.node)) {
      expr(*print->value);
    } else if (const auto* inspect = std::get_if<ast::Inspect>(&s.node)) {
      for (const ast::ExprPtr& e : inspect->options) expr(*e);
      arg(inspect->operand, 'r');
    } else if (const auto* execute = std::get_if<ast::Execute>(&s.node)) {
      const std::string& signature = program_.symbol_of(execute->special).signature;
      for (std::size_t i = 0; i < execute->args.size(); ++i) arg(execute->args[i], signature[i]);
    } else if (const auto* gpu = std::get_if<ast::GpuOp>(&s.node)) {
      arg(gpu->arg, 'r');
    } else if (const auto* persistent = std::get_if<ast::Persistent>(&s.node)) {
      if (program_.symbol_of(persistent->item).kind == SymbolKind::array)
        (persistent->restore ? whole(persistent->item).write : whole(persistent->item).read) = true;
    }
  }

 private:
  Access& add(SymbolId array, const ast::Block* block, Span span) {
    Access access;
    access.array = array;
    access.block = block;
    access.span = span;
    list_.push_back(access);
    return list_.back();
  }

  const CheckedProgram& program_;
  std::vector<Access>& list_;
};

}  // namespace

std::vector<Access> accesses(const CheckedProgram& program, const ast::Stmt& stmt) {
  std::vector<Access> list;
  Collector(program, list).stmt(stmt);
  return list;
}

std::vector<Access> accesses(const CheckedProgram& program, const ast::Relation& relation) {
  std::vector<Access> list;
  Collector collector(program, list);
  collector.expr(*relation.left);
  collector.expr(*relation.right);
  return list;
}

std::vector<Access> accesses(const CheckedProgram& program, const ast::Expr& expr) {
  std::vector<Access> list;
  Collector(program, list).expr(expr);
  return list;
}

std::vector<Label> labels_of(const CheckedProgram& program, const ast::Block& block) {
  std::vector<Label> labels;
  for (const ast::BlockIndex& index : block.indices)
    labels.push_back({program.names.at(&index.index), index.as_simple});
  return labels;
}

}  // namespace sial::sema
