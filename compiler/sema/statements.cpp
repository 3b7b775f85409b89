#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace sial::sema {

void Checker::check_body(const ast::Body& body) {
  const ast::Body* outer = body_;
  body_ = &body;
  for (const ast::StmtPtr& stmt : body) check_stmt(*stmt);
  body_ = outer;
}

void Checker::check_stmt(const ast::Stmt& stmt) {
  std::visit([&](const auto& node) { check_node(stmt, node); }, stmt.node);
}

void Checker::collective_use(const ast::Stmt& stmt, CollectiveKind kind) {
  routine_->collectives.push_back({&stmt, kind, pardo_});
}

void Checker::check_node(const ast::Stmt&, const ast::If& branch) {
  check_relation(branch.condition);
  check_body(branch.then_body);
  check_body(branch.else_body);
}

void Checker::check_node(const ast::Stmt&, const ast::GpuSection& section) { check_body(section.body); }

void Checker::check_node(const ast::Stmt& section_stmt, const ast::Section& section) {
  collective_use(section_stmt, CollectiveKind::section);
  for (const ast::StmtPtr& stmt : section.body)
    if (!std::holds_alternative<ast::PardoLoop>(stmt->node))
      report(Code::E_SECTION, stmt->header_span, "a section holds pardo loops only",
             "move the statement out of the section");
  check_body(section.body);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Call& call) {
  const SymbolId id = resolve(call.proc, {SymbolKind::proc});
  if (id == no_symbol) return;
  if (symbol(id).kind != SymbolKind::proc) {
    Diagnostic& d = report(
        Code::E_CALL, call.proc.span, fmt::format("`{}` is {}, not a procedure", call.proc.text, describe(symbol(id))),
        symbol(id).kind == SymbolKind::special ? fmt::format("use `execute {}`", call.proc.text) : "");
    note(d, id);
    return;
  }
  CallSite site{id, stmt.span, {}, pardo_};
  for (const auto& [index, span] : bound_) site.bound.push_back(index);
  routine_->calls.push_back(std::move(site));
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Return&) {
  if (routine_->body == &compilation_.modules[static_cast<std::size_t>(module_)]->statements)
    report(Code::E_RETURN, stmt.span, "`return` outside a procedure",
           "the main body ends at `endsial`; `stop` aborts the job");
}

void Checker::check_node(const ast::Stmt&, const ast::Stop&) {}

void Checker::check_node(const ast::Stmt& stmt, const ast::Exit&) {
  if (loops_.empty()) {
    report(Code::E_EXIT, stmt.span, "`exit` outside a loop",
           "it leaves the innermost loop of the same procedure or main body");
  } else if (loops_.back().pardo) {
    report(Code::W_EXIT_PARDO, stmt.span, "`exit` ends only this worker's share of the pardo",
           "other workers go on; filter iterations with a where clause or an `if`");
  }
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Barrier&) { collective_use(stmt, CollectiveKind::barrier); }

void Checker::check_node(const ast::Stmt&, const ast::Allocate& allocate) {
  const char* word = allocate.deallocate ? "deallocate" : "allocate";
  const SymbolId id = resolve_array(
      allocate.array, allocate.deallocate ? "`deallocate` frees blocks of" : "`allocate` makes blocks of");
  if (id == no_symbol) return;
  const Symbol& array = symbol(id);
  if (array.array_kind != ast::ArrayKind::local) {
    Diagnostic& d = report(Code::E_ARRAY_KIND, allocate.array.span,
                           fmt::format("`{}` is for local arrays, `{}` is {}", word, array.text, describe(array)),
                           array.array_kind == ast::ArrayKind::temp ? "temps come and go by themselves" : "");
    note(d, id);
    return;
  }
  if (array.contiguous) {
    Diagnostic& d = report(Code::E_REGION_NEEDED, allocate.array.span,
                           fmt::format("`{}` is contiguous: it is allocated in regions", array.text),
                           fmt::format("write `{} contiguous {}[lo:hi, ..]`", word, array.text));
    note(d, id);
    return;
  }
  if (!allocate.selector) return;
  if (allocate.selector->size() != array.dims.size()) {
    Diagnostic& d = report(
        Code::E_RANK, allocate.array.span,
        fmt::format(
            "`{}` has {} dimension{}, {} given", array.text, array.dims.size(), array.dims.size() == 1 ? "" : "s",
            allocate.selector->size() == 1 ? "1 entry is" : fmt::format("{} entries are", allocate.selector->size())),
        "one index or `*` per dimension");
    note(d, id);
    return;
  }
  for (std::size_t i = 0; i < allocate.selector->size(); ++i) {
    const ast::WildcardIndex& entry = (*allocate.selector)[i];
    if (!entry.index) continue;
    BlockInfo info;
    const SymbolId label = check_label(*entry.index, false, entry.span, id, i, info);
    if (label == no_symbol || !info.sub_block) continue;
    Diagnostic& d = report(Code::E_SLICE, entry.span,
                           fmt::format("`{}` names a part of a block; blocks are allocated whole", entry.index->text),
                           fmt::format("use `{}`", symbol(symbol(label).parent).text));
    note(d, id);
  }
}

void Checker::check_node(const ast::Stmt&, const ast::AllocateRegion& allocate) { check_region(allocate.region); }

void Checker::check_node(const ast::Stmt& stmt, const ast::Create& create) {
  collective_use(stmt, CollectiveKind::create);
  const SymbolId id = resolve_array(create.array, "`create` needs");
  if (id == no_symbol || symbol(id).array_kind == ast::ArrayKind::distributed) return;
  Diagnostic& d =
      report(Code::E_ARRAY_KIND, create.array.span,
             fmt::format("`create` is for distributed arrays, `{}` is {}", create.array.text, describe(symbol(id))),
             symbol(id).array_kind == ast::ArrayKind::served  ? "served arrays need no create"
             : symbol(id).array_kind == ast::ArrayKind::local ? "use `allocate`"
                                                              : "");
  note(d, id);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Delete& erase) {
  collective_use(stmt, CollectiveKind::erase);
  const char* word = erase.destroy ? "destroy" : "delete";
  const SymbolId id = resolve_array(erase.array, erase.destroy ? "`destroy` needs" : "`delete` needs");
  if (id == no_symbol) return;
  const Symbol& array = symbol(id);
  if (array.array_kind == (erase.destroy ? ast::ArrayKind::served : ast::ArrayKind::distributed)) return;
  Diagnostic& d = report(Code::E_ARRAY_KIND, erase.array.span,
                         fmt::format("`{}` is for {} arrays, `{}` is {}", word,
                                     erase.destroy ? "served" : "distributed", array.text, describe(array)),
                         array.remote() ? fmt::format("use `{}`", erase.destroy ? "delete" : "destroy")
                         : array.array_kind == ast::ArrayKind::local ? "use `deallocate`"
                                                                     : "");
  note(d, id);
}

void Checker::check_node(const ast::Stmt&, const ast::Get& get) {
  const char* word = get.request ? "request" : "get";
  const BlockInfo info = check_block(get.block);
  if (!info.ok) return;
  const Symbol& array = symbol(info.array);
  if (array.array_kind == (get.request ? ast::ArrayKind::served : ast::ArrayKind::distributed)) return;
  Diagnostic& d =
      report(Code::E_ARRAY_KIND, get.block.array.span,
             fmt::format("`{}` is for {} arrays, `{}` is {}", word, get.request ? "served" : "distributed", array.text,
                         describe(array)),
             array.remote() ? fmt::format("use `{}`", get.request ? "get" : "request") : "its blocks need no fetching");
  note(d, info.array);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Collective& collective) {
  collective_use(stmt, CollectiveKind::collective);
  if (collective.op != ast::AssignOp::add) {
    report(Code::E_COLLECTIVE, collective.op_span,
           fmt::format("`collective` has no `{}`, only `+=`", op_word(collective.op)),
           "set the scalar to 0.0 before, then `collective x += expression`");
    infer(*collective.value);
    return;
  }
  const SymbolId id = resolve(collective.target, {SymbolKind::scalar});
  if (id != no_symbol && symbol(id).kind != SymbolKind::scalar) {
    Diagnostic& d =
        report(Code::E_COLLECTIVE, collective.target.span,
               fmt::format("`collective` sums into a scalar, `{}` is {}", collective.target.text, describe(symbol(id))),
               symbol(id).kind == SymbolKind::int_ ? "sum into a scalar and convert with `(int)`" : "");
    note(d, id);
    return;
  }
  want_scalar(*collective.value, "`collective` sums");
}

void Checker::check_node(const ast::Stmt& stmt, const ast::AssertSame& same) {
  collective_use(stmt, CollectiveKind::assert_same);
  const SymbolId id = resolve(same.scalar, {SymbolKind::scalar});
  if (id == no_symbol || symbol(id).kind == SymbolKind::scalar) return;
  Diagnostic& d =
      report(Code::E_ASSERT_SAME, same.scalar.span,
             fmt::format("`assert_same` compares a scalar, `{}` is {}", same.scalar.text, describe(symbol(id))));
  note(d, id);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Broadcast& broadcast) {
  collective_use(stmt, CollectiveKind::broadcast);
  const Mask mask = infer(*broadcast.source);
  if (mask & (may_int | may_index)) {
    choose_int(*broadcast.source);
  } else if (mask != 0) {
    report(Code::E_BROADCAST, broadcast.source->span,
           fmt::format("the sending worker is given by an int, not {}", type_words(*broadcast.source, mask)),
           (mask & may_scalar) ? "convert it: `(int)` in parentheses" : "");
  }
  const SymbolId id = resolve_array(broadcast.array, "`broadcast_from` sends");
  if (id == no_symbol || symbol(id).array_kind == ast::ArrayKind::static_) return;
  Diagnostic& d = report(
      Code::E_ARRAY_KIND, broadcast.array.span,
      fmt::format("`broadcast_from` sends a static array, `{}` is {}", broadcast.array.text, describe(symbol(id))));
  note(d, id);
}

void Checker::check_argument(const ast::Arg& arg, const Symbol* special) {
  const std::string what = special ? fmt::format("an argument of `{}`", special->text) : "the operand";
  if (const auto* block = std::get_if<ast::Block>(&arg.node)) {
    check_block(*block);
    return;
  }
  if (const auto* region = std::get_if<ast::Region>(&arg.node)) {
    check_region(*region);
    return;
  }
  if (const auto* literal = std::get_if<ast::IntLit>(&arg.node)) {
    report(Code::E_ARG, arg.span, fmt::format("{} cannot be an int literal", what),
           fmt::format("write {}.0", literal->value));
    return;
  }
  const auto* name = std::get_if<ast::Name>(&arg.node);
  if (!name) return;
  const SymbolId id = resolve(*name, {SymbolKind::scalar, SymbolKind::array});
  if (id == no_symbol) return;
  const Symbol& s = symbol(id);
  if (s.kind == SymbolKind::scalar) return;
  if (s.kind == SymbolKind::array) {
    const bool whole = special && (special->name == "blocks_to_list" || special->name == "list_to_blocks" ||
                                   special->name == "array_copy");
    if (s.contiguous || whole) return;
    Diagnostic& d =
        report(Code::E_ARG, arg.span, fmt::format("`{}` is {} and cannot be passed as a whole", s.text, describe(s)),
               "pass one of its blocks; only static and contiguous arrays are passed whole");
    note(d, id);
    return;
  }
  Diagnostic& d = report(Code::E_ARG, arg.span,
                         fmt::format("`{}` is {}; {} is a block, a region, a scalar, an array or a real literal",
                                     s.text, describe(s), what),
                         s.kind == SymbolKind::int_ || s.kind == SymbolKind::index
                             ? fmt::format("assign `(scalar){}` to a scalar and pass that", s.text)
                             : "");
  note(d, id);
}

void Checker::check_node(const ast::Stmt&, const ast::Execute& execute) {
  const SymbolId id = resolve(execute.special, {SymbolKind::special});
  if (id == no_symbol || symbol(id).kind != SymbolKind::special) {
    for (const ast::Arg& arg : execute.args) check_argument(arg, nullptr);
    if (id == no_symbol) return;
    Diagnostic& d =
        report(Code::E_EXECUTE, execute.special.span,
               fmt::format("`{}` is {}, not a special", execute.special.text, describe(symbol(id))),
               symbol(id).kind == SymbolKind::proc ? fmt::format("use `call {}`", execute.special.text) : "");
    note(d, id);
    return;
  }
  const Symbol& special = symbol(id);
  for (const ast::Arg& arg : execute.args) check_argument(arg, &special);
  if (execute.args.size() == special.signature.size()) return;
  Diagnostic& d = report(Code::E_ARITY, execute.special.span,
                         fmt::format("`{}` takes {} argument{}, {} {} given", special.text, special.signature.size(),
                                     special.signature.size() == 1 ? "" : "s", execute.args.size(),
                                     execute.args.size() == 1 ? "is" : "are"),
                         special.signature.empty() ? "its declaration has no signature"
                                                   : fmt::format("its signature is `{}`", special.signature));
  note(d, id);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::Persistent& persistent) {
  collective_use(stmt, CollectiveKind::persistent);
  const SymbolId id = resolve(persistent.item, {SymbolKind::scalar, SymbolKind::array});
  if (id == no_symbol) return;
  const Symbol& s = symbol(id);
  const bool array = s.kind == SymbolKind::array && (s.remote() || s.array_kind == ast::ArrayKind::static_);
  if ((s.kind == SymbolKind::scalar || array) && !s.predefined) return;
  const char* word = persistent.restore ? "restore_persistent" : "set_persistent";
  Diagnostic& d =
      report(Code::E_PERSIST, persistent.item.span,
             s.predefined ? fmt::format("`{}` is predefined: its value comes from the job's data", s.text)
                          : fmt::format("`{}` takes a scalar or a static, distributed or served array, `{}` is {}",
                                        word, s.text, describe(s)),
             s.kind == SymbolKind::int_ && !s.predefined ? "keep the value in a scalar" : "");
  note(d, id);
}

void Checker::check_node(const ast::Stmt&, const ast::GpuOp& op) {
  check_argument(op.arg, nullptr);
  if (std::holds_alternative<ast::Region>(op.arg.node) || std::holds_alternative<ast::RealLit>(op.arg.node))
    report(Code::E_ARG, op.arg.span, "only a block, a scalar or a whole array can be kept on a device");
}

bool Checker::bounds_an_index(SymbolId id) {
  if (bounding_of_ != program_.symbols.size()) {
    bounding_.clear();
    for (const Symbol& s : program_.symbols)
      if (s.kind == SymbolKind::index) bounding_.insert({s.lo.symbol, s.hi.symbol});
    bounding_of_ = program_.symbols.size();
  }
  return bounding_.contains(id);
}

void Checker::check_node(const ast::Stmt&, const ast::AssignName& assign) {
  const SymbolId id = resolve(assign.target, {SymbolKind::scalar, SymbolKind::int_});
  if (id == no_symbol) {
    infer(*assign.value);
    return;
  }
  const Symbol& target = symbol(id);
  if (target.kind != SymbolKind::scalar && target.kind != SymbolKind::int_) {
    std::string hint;
    if (target.kind == SymbolKind::array) hint = fmt::format("assign to its blocks: `{}[..]`", target.text);
    if (target.kind == SymbolKind::index || target.kind == SymbolKind::subindex)
      hint = "indices get their values from loops";
    Diagnostic& d =
        report(Code::E_LHS, assign.target.span,
               fmt::format("`{}` is {} and cannot be assigned", assign.target.text, describe(target)), hint);
    note(d, id);
    infer(*assign.value);
    return;
  }
  if (target.predefined) {
    const bool bound = bounds_an_index(id);
    Diagnostic& d = report(Code::W_ASSIGN_PREDEF, assign.target.span,
                           fmt::format("`{}` is predefined; its value comes from the job's data", target.text),
                           bound ? "it bounds an index range, which keeps the value from the job's data" : "");
    note(d, id);
  }
  if (target.kind == SymbolKind::scalar) want_scalar(*assign.value, fmt::format("the scalar `{}` needs", target.text));
  else want_int(*assign.value, fmt::format("the int `{}` needs", target.text));
}

}  // namespace sial::sema
