#include "compiler/ast/print.h"
#include "compiler/ast/print_names.h"
#include "runtime/core/base/json.h"

namespace sial {
namespace {

using namespace ast;
using json = Json;

class JsonPrinter {
 public:
  explicit JsonPrinter(const SourceManager& sources) : sources_(sources) {}

  json module(const Module& m) const {
    json out;
    out["name"] = m.name.name;
    out["file"] = sources_.name(m.file);
    out["imports"] = json::array();
    for (const Import& i : m.imports) {
      json entry;
      entry["path"] = i.path;
      entry["file"] = i.resolved < 0 ? "" : sources_.name(i.resolved);
      entry["line"] = sources_.position(i.span.file, i.span.begin).line;
      out["imports"].push_back(std::move(entry));
    }
    out["declarations"] = json::array();
    for (const Decl& d : m.declarations) out["declarations"].push_back(declaration(d));
    out["statements"] = body(m.statements);
    return out;
  }

 private:
  json start(const char* kind, Span span) const {
    const LineColumn p = sources_.position(span.file, span.begin);
    json out;
    out["kind"] = kind;
    out["line"] = p.line;
    out["column"] = p.column;
    return out;
  }

  static json names(const std::vector<Name>& list) {
    json out = json::array();
    for (const Name& n : list) out.push_back(n.name);
    return out;
  }

  static void add_modifiers(json& out, const Modifiers& m) {
    out["predefined"] = m.predefined;
    out["contiguous"] = m.contiguous;
    out["sparse"] = m.sparse;
  }

  static json bound(const RangeBound& b) {
    if (b.name) return b.name->name;
    return b.negative ? -*b.literal : *b.literal;
  }

  json declaration(const Decl& d) const {
    return std::visit(Overloaded{[&](const ScalarDecl& n) {
                                   json out = start("ScalarDecl", d.span);
                                   out["name"] = n.name.name;
                                   add_modifiers(out, n.modifiers);
                                   out["initial"] = n.initial ? json(*n.initial) : json();
                                   return out;
                                 },
                                 [&](const IntDecl& n) {
                                   json out = start("IntDecl", d.span);
                                   out["name"] = n.name.name;
                                   add_modifiers(out, n.modifiers);
                                   out["initial"] = n.initial ? json(*n.initial) : json();
                                   return out;
                                 },
                                 [&](const IndexDecl& n) {
                                   json out = start("IndexDecl", d.span);
                                   out["name"] = n.name.name;
                                   out["index_kind"] = spelling(n.kind);
                                   add_modifiers(out, n.modifiers);
                                   out["lo"] = bound(n.lo);
                                   out["hi"] = bound(n.hi);
                                   return out;
                                 },
                                 [&](const SubindexDecl& n) {
                                   json out = start("SubindexDecl", d.span);
                                   out["name"] = n.name.name;
                                   out["parent"] = n.parent.name;
                                   return out;
                                 },
                                 [&](const ArrayDecl& n) {
                                   json out = start("ArrayDecl", d.span);
                                   out["name"] = n.name.name;
                                   out["array_kind"] = spelling(n.kind);
                                   add_modifiers(out, n.modifiers);
                                   out["dims"] = names(n.dims);
                                   return out;
                                 },
                                 [&](const ProcDecl& n) {
                                   json out = start("ProcDecl", d.span);
                                   out["name"] = n.name.name;
                                   out["body"] = body(n.body);
                                   return out;
                                 },
                                 [&](const SpecialDecl& n) {
                                   json out = start("SpecialDecl", d.span);
                                   out["name"] = n.name.name;
                                   out["signature"] = n.signature ? json(n.signature->name) : json();
                                   return out;
                                 }},
                      d.node);
  }

  json body(const Body& statements) const {
    json out = json::array();
    for (const auto& s : statements) out.push_back(statement(*s));
    return out;
  }

  json wheres(const std::vector<Relation>& list) const {
    json out = json::array();
    for (const Relation& r : list) out.push_back(relation(r));
    return out;
  }

  json statement(const Stmt& s) const {
    const auto make = [&](const char* kind) { return start(kind, s.span); };
    return std::visit(Overloaded{[&](const DoLoop& n) {
                                   json out = make("DoLoop");
                                   out["index"] = n.index.name;
                                   out["wheres"] = wheres(n.wheres);
                                   out["body"] = body(n.body);
                                   return out;
                                 },
                                 [&](const SubLoop& n) {
                                   json out = make("SubLoop");
                                   out["index"] = n.index.name;
                                   out["parent"] = n.parent.name;
                                   out["wheres"] = wheres(n.wheres);
                                   out["body"] = body(n.body);
                                   return out;
                                 },
                                 [&](const PardoLoop& n) {
                                   json out = make("PardoLoop");
                                   out["indices"] = names(n.indices);
                                   out["pragma"] = n.pragma ? json(*n.pragma) : json();
                                   out["wheres"] = wheres(n.wheres);
                                   out["body"] = body(n.body);
                                   return out;
                                 },
                                 [&](const Section& n) {
                                   json out = make("Section");
                                   out["body"] = body(n.body);
                                   return out;
                                 },
                                 [&](const If& n) {
                                   json out = make("If");
                                   out["condition"] = relation(n.condition);
                                   out["then"] = body(n.then_body);
                                   out["has_else"] = n.has_else;
                                   out["else"] = body(n.else_body);
                                   return out;
                                 },
                                 [&](const GpuSection& n) {
                                   json out = make("GpuSection");
                                   out["body"] = body(n.body);
                                   return out;
                                 },
                                 [&](const Call& n) {
                                   json out = make("Call");
                                   out["proc"] = n.proc.name;
                                   return out;
                                 },
                                 [&](const Return&) { return make("Return"); },
                                 [&](const Stop&) { return make("Stop"); },
                                 [&](const Exit&) { return make("Exit"); },
                                 [&](const Barrier& n) {
                                   json out = make("Barrier");
                                   out["server"] = n.server;
                                   return out;
                                 },
                                 [&](const Allocate& n) {
                                   json out = make("Allocate");
                                   out["deallocate"] = n.deallocate;
                                   out["array"] = n.array.name;
                                   out["selector"] = json();
                                   if (n.selector) {
                                     out["selector"] = json::array();
                                     for (const WildcardIndex& w : *n.selector)
                                       out["selector"].push_back(w.index ? w.index->name : std::string("*"));
                                   }
                                   return out;
                                 },
                                 [&](const AllocateRegion& n) {
                                   json out = make("AllocateRegion");
                                   out["deallocate"] = n.deallocate;
                                   out["region"] = region(n.region);
                                   return out;
                                 },
                                 [&](const Create& n) {
                                   json out = make("Create");
                                   out["array"] = n.array.name;
                                   return out;
                                 },
                                 [&](const Delete& n) {
                                   json out = make("Delete");
                                   out["destroy"] = n.destroy;
                                   out["array"] = n.array.name;
                                   return out;
                                 },
                                 [&](const Get& n) {
                                   json out = make("Get");
                                   out["request"] = n.request;
                                   out["block"] = block(n.block);
                                   return out;
                                 },
                                 [&](const Put& n) {
                                   json out = make("Put");
                                   out["prepare"] = n.prepare;
                                   out["block"] = block(n.block);
                                   out["op"] = spelling(n.op);
                                   out["value"] = expr(*n.value);
                                   return out;
                                 },
                                 [&](const Collective& n) {
                                   json out = make("Collective");
                                   out["target"] = n.target.name;
                                   out["op"] = spelling(n.op);
                                   out["value"] = expr(*n.value);
                                   return out;
                                 },
                                 [&](const AssertSame& n) {
                                   json out = make("AssertSame");
                                   out["scalar"] = n.scalar.name;
                                   return out;
                                 },
                                 [&](const Broadcast& n) {
                                   json out = make("Broadcast");
                                   out["source"] = expr(*n.source);
                                   out["array"] = n.array.name;
                                   return out;
                                 },
                                 [&](const Print& n) {
                                   json out = make("Print");
                                   out["newline"] = n.newline;
                                   out["value"] = expr(*n.value);
                                   return out;
                                 },
                                 [&](const Inspect& n) {
                                   json out = make("Inspect");
                                   out["newline"] = n.newline;
                                   out["function"] = n.function.name;
                                   out["operand"] = argument(n.operand);
                                   out["options"] = json::array();
                                   for (const ExprPtr& e : n.options) out["options"].push_back(expr(*e));
                                   return out;
                                 },
                                 [&](const Execute& n) {
                                   json out = make("Execute");
                                   out["special"] = n.special.name;
                                   out["args"] = json::array();
                                   for (const Arg& a : n.args) out["args"].push_back(argument(a));
                                   return out;
                                 },
                                 [&](const Persistent& n) {
                                   json out = make("Persistent");
                                   out["restore"] = n.restore;
                                   out["item"] = n.item.name;
                                   out["label"] = n.label;
                                   return out;
                                 },
                                 [&](const GpuOp& n) {
                                   json out = make("GpuOp");
                                   out["op"] = spelling(n.op);
                                   out["arg"] = argument(n.arg);
                                   return out;
                                 },
                                 [&](const AssignName& n) {
                                   json out = make("AssignName");
                                   out["target"] = n.target.name;
                                   out["op"] = spelling(n.op);
                                   out["value"] = expr(*n.value);
                                   return out;
                                 },
                                 [&](const AssignBlock& n) {
                                   json out = make("AssignBlock");
                                   out["target"] = block(n.target);
                                   out["op"] = spelling(n.op);
                                   out["value"] = expr(*n.value);
                                   return out;
                                 },
                                 [&](const AssignRegion& n) {
                                   json out = make("AssignRegion");
                                   out["target"] = region(n.target);
                                   out["op"] = spelling(n.op);
                                   out["value"] = expr(*n.value);
                                   return out;
                                 }},
                      s.node);
  }

  json argument(const Arg& a) const {
    return std::visit(Overloaded{[&](const Block& b) { return with_kind("Block", a.span, block(b)); },
                                 [&](const Region& r) { return with_kind("Region", a.span, region(r)); },
                                 [&](const Name& n) {
                                   json out = start("Name", a.span);
                                   out["name"] = n.name;
                                   return out;
                                 },
                                 [&](const IntLit& n) {
                                   json out = start("IntLit", a.span);
                                   out["value"] = n.value;
                                   return out;
                                 },
                                 [&](const RealLit& n) {
                                   json out = start("RealLit", a.span);
                                   out["value"] = n.value;
                                   out["text"] = n.text;
                                   return out;
                                 }},
                      a.node);
  }

  json with_kind(const char* kind, Span span, const json& fields) const {
    json out = start(kind, span);
    out.update(fields);
    return out;
  }

  static json block(const Block& b) {
    json out;
    out["array"] = b.array.name;
    out["indices"] = json::array();
    for (const BlockIndex& i : b.indices)
      out["indices"].push_back({{"name", i.index.name}, {"as_simple", i.as_simple}});
    return out;
  }

  json region(const Region& r) const {
    json out;
    out["array"] = r.array.name;
    out["ranges"] = json::array();
    for (const SegRange& s : r.ranges) {
      json range;
      range["lo"] = expr(*s.lo);
      range["hi"] = expr(*s.hi);
      out["ranges"].push_back(std::move(range));
    }
    return out;
  }

  json relation(const Relation& r) const {
    json out = start("Relation", r.span);
    out["op"] = spelling(r.op);
    out["left"] = expr(*r.left);
    out["right"] = expr(*r.right);
    return out;
  }

  json expr(const Expr& e) const {
    const auto make = [&](const char* kind) { return start(kind, e.span); };
    return std::visit(Overloaded{[&](const IntLit& n) {
                                   json out = make("IntLit");
                                   out["value"] = n.value;
                                   return out;
                                 },
                                 [&](const RealLit& n) {
                                   json out = make("RealLit");
                                   out["value"] = n.value;
                                   out["text"] = n.text;
                                   return out;
                                 },
                                 [&](const StringLit& n) {
                                   json out = make("StringLit");
                                   out["value"] = n.value;
                                   return out;
                                 },
                                 [&](const NameExpr& n) {
                                   json out = make("Name");
                                   out["name"] = n.name.name;
                                   return out;
                                 },
                                 [&](const BlockExpr& n) { return with_kind("Block", e.span, block(n.block)); },
                                 [&](const RegionExpr& n) { return with_kind("Region", e.span, region(n.region)); },
                                 [&](const Unary& n) {
                                   json out = make("Unary");
                                   out["op"] = spelling(n.op);
                                   out["operand"] = expr(*n.operand);
                                   return out;
                                 },
                                 [&](const Cast& n) {
                                   json out = make("Cast");
                                   out["type"] = spelling(n.type);
                                   out["operand"] = expr(*n.operand);
                                   return out;
                                 },
                                 [&](const Binary& n) {
                                   json out = make("Binary");
                                   out["op"] = spelling(n.op);
                                   out["left"] = expr(*n.left);
                                   out["right"] = expr(*n.right);
                                   return out;
                                 },
                                 [&](const Paren& n) {
                                   json out = make("Paren");
                                   out["inner"] = expr(*n.inner);
                                   return out;
                                 }},
                      e.node);
  }

  const SourceManager& sources_;
};

}  // namespace

std::string ast_to_json(const ast::Compilation& compilation, const SourceManager& sources) {
  json out;
  out["modules"] = json::array();
  const JsonPrinter printer(sources);
  for (const auto& module : compilation.modules) out["modules"].push_back(printer.module(*module));
  return json_text(out) + "\n";
}

}  // namespace sial
