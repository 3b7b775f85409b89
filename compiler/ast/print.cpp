#include "compiler/ast/print.h"

#include <fmt/format.h>

#include "compiler/ast/print_names.h"

namespace sial {
namespace {

using namespace ast;

template <typename Items, typename Text>
std::string join(const Items& items, const char* separator, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : separator) + text(item);
  return out;
}

std::string text_of(const Name& n) { return n.name; }
std::string text_of(const Block& b) {
  return b.array.name + "[" +
         join(b.indices, ",", [](const BlockIndex& i) { return (i.as_simple ? "(index)" : "") + i.index.name; }) + "]";
}
std::string text_of(const Region& r) {
  return r.array.name + "[" +
         join(r.ranges, ",", [](const SegRange& s) { return expression_text(*s.lo) + ":" + expression_text(*s.hi); }) +
         "]";
}
std::string text_of(const Relation& r) {
  return fmt::format("{} {} {}", expression_text(*r.left), spelling(r.op), expression_text(*r.right));
}
std::string text_of(const std::vector<Name>& names, const char* separator = ", ") {
  return join(names, separator, [](const Name& n) { return n.name; });
}
std::string text_of(const Arg& a) {
  return std::visit(
      Overloaded{[](const Block& b) { return text_of(b); }, [](const Region& r) { return text_of(r); },
                 [](const Name& n) { return n.name; }, [](const IntLit& i) { return std::to_string(i.value); },
                 [](const RealLit& r) { return r.text; }},
      a.node);
}
std::string text_of(const RangeBound& b) {
  return b.name ? b.name->name : (b.negative ? "-" : "") + std::to_string(*b.literal);
}
std::string text_of(const Modifiers& m) {
  return std::string(m.predefined ? "predefined " : "") + (m.contiguous ? "contiguous " : "") +
         (m.sparse ? "sparse " : "");
}

class Printer {
 public:
  explicit Printer(const SourceManager& sources) : sources_(sources) {}

  std::string print(const Compilation& c) {
    for (const auto& module : c.modules) {
      out_ += fmt::format("module {} ({})\n", module->name.name, sources_.name(module->file));
      ++depth_;
      for (const Import& i : module->imports) line(i.span, "import \"" + i.path + "\"");
      for (const Decl& d : module->declarations) declaration(d);
      body(module->statements);
      --depth_;
    }
    return std::move(out_);
  }

 private:
  void line(Span span, const std::string& text) {
    const LineColumn p = sources_.position(span.file, span.begin);
    out_ += fmt::format("{:<8} {}{}\n", fmt::format("{}:{}", p.line, p.column), std::string(2 * depth_, ' '), text);
  }
  void body(const Body& statements) {
    for (const auto& s : statements) statement(*s);
  }
  void block(const Stmt& s, const std::string& header, const std::vector<Relation>& wheres, const Body& inner) {
    line(s.span, header);
    ++depth_;
    for (const Relation& w : wheres) line(w.span, "where " + text_of(w));
    body(inner);
    --depth_;
  }

  void declaration(const Decl& d) {
    if (const auto* proc = std::get_if<ProcDecl>(&d.node)) {
      line(d.span, "proc " + proc->name.name);
      ++depth_;
      body(proc->body);
      --depth_;
      return;
    }
    line(d.span,
         std::visit(Overloaded{[](const ScalarDecl& s) {
                                 return text_of(s.modifiers) + "scalar " + s.name.name +
                                        (s.initial ? fmt::format(" = {}", *s.initial) : "");
                               },
                               [](const IntDecl& n) {
                                 return text_of(n.modifiers) + "int " + n.name.name +
                                        (n.initial ? fmt::format(" = {}", *n.initial) : "");
                               },
                               [](const IndexDecl& i) {
                                 return text_of(i.modifiers) + spelling(i.kind) + " " + i.name.name + " = " +
                                        text_of(i.lo) + ":" + text_of(i.hi);
                               },
                               [](const SubindexDecl& s) { return "subindex " + s.name.name + " of " + s.parent.name; },
                               [](const ArrayDecl& a) {
                                 return text_of(a.modifiers) + spelling(a.kind) + " " + a.name.name + "[" +
                                        text_of(a.dims, ",") + "]";
                               },
                               [](const SpecialDecl& s) {
                                 return "special " + s.name.name + (s.signature ? " " + s.signature->name : "");
                               },
                               [](const ProcDecl&) { return std::string(); }},
                    d.node));
  }

  void statement(const Stmt& s) {
    const std::vector<Relation> none;
    if (const auto* d = std::get_if<DoLoop>(&s.node)) return block(s, "do " + d->index.name, d->wheres, d->body);
    if (const auto* d = std::get_if<SubLoop>(&s.node))
      return block(s, "do " + d->index.name + " in " + d->parent.name, d->wheres, d->body);
    if (const auto* p = std::get_if<PardoLoop>(&s.node))
      return block(s, "pardo " + text_of(p->indices) + (p->pragma ? " \"" + *p->pragma + "\"" : ""), p->wheres,
                   p->body);
    if (const auto* n = std::get_if<Section>(&s.node)) return block(s, "section", none, n->body);
    if (const auto* n = std::get_if<GpuSection>(&s.node)) return block(s, "gpu_on", none, n->body);
    if (const auto* i = std::get_if<If>(&s.node)) {
      block(s, "if " + text_of(i->condition), none, i->then_body);
      if (!i->has_else) return;
      line(s.span, "else");
      ++depth_;
      body(i->else_body);
      --depth_;
      return;
    }
    line(s.span, simple(s));
  }

  static std::string simple(const Stmt& s) {
    const auto assign = [](const std::string& target, AssignOp op, const Expr& value) {
      return fmt::format("{} {} {}", target, spelling(op), expression_text(value));
    };
    return std::visit(
        Overloaded{
            [](const Call& n) { return "call " + n.proc.name; },
            [](const Return&) { return std::string("return"); },
            [](const Stop&) { return std::string("stop"); },
            [](const Exit&) { return std::string("exit"); },
            [](const Barrier& n) { return std::string(n.server ? "server_barrier" : "sip_barrier"); },
            [](const Allocate& n) {
              std::string out = (n.deallocate ? "deallocate " : "allocate ") + n.array.name;
              if (n.selector)
                out += "[" +
                       join(*n.selector, ",",
                            [](const WildcardIndex& w) { return w.index ? w.index->name : std::string("*"); }) +
                       "]";
              return out;
            },
            [](const AllocateRegion& n) {
              return std::string(n.deallocate ? "deallocate" : "allocate") + " contiguous " + text_of(n.region);
            },
            [](const Create& n) { return "create " + n.array.name; },
            [](const Delete& n) { return (n.destroy ? "destroy " : "delete ") + n.array.name; },
            [](const Get& n) { return (n.request ? "request " : "get ") + text_of(n.block); },
            [&](const Put& n) { return (n.prepare ? "prepare " : "put ") + assign(text_of(n.block), n.op, *n.value); },
            [&](const Collective& n) { return "collective " + assign(n.target.name, n.op, *n.value); },
            [](const AssertSame& n) { return "assert_same " + n.scalar.name; },
            [](const Broadcast& n) { return "broadcast_from " + expression_text(*n.source) + " " + n.array.name; },
            [](const Print& n) { return (n.newline ? "println " : "print ") + expression_text(*n.value); },
            [](const Inspect& n) {
              std::string out =
                  fmt::format("{} {}({}", n.newline ? "println" : "print", n.function.name, text_of(n.operand));
              for (const ExprPtr& e : n.options) out += ", " + expression_text(*e);
              return out + ")";
            },
            [](const Execute& n) {
              return "execute " + n.special.name +
                     (n.args.empty() ? "" : " " + join(n.args, " ", [](const Arg& a) { return text_of(a); }));
            },
            [](const Persistent& n) {
              return (n.restore ? "restore_persistent " : "set_persistent ") + n.item.name + " \"" + n.label + "\"";
            },
            [](const GpuOp& n) { return std::string(spelling(n.op)) + " " + text_of(n.arg); },
            [&](const AssignName& n) { return assign(n.target.name, n.op, *n.value); },
            [&](const AssignBlock& n) { return assign(text_of(n.target), n.op, *n.value); },
            [&](const AssignRegion& n) { return assign(text_of(n.target), n.op, *n.value); },
            [](const auto&) { return std::string(); }},
        s.node);
  }

  const SourceManager& sources_;
  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string expression_text(const ast::Expr& e) {
  return std::visit(
      Overloaded{[](const IntLit& n) { return std::to_string(n.value); }, [](const RealLit& n) { return n.text; },
                 [](const StringLit& n) { return "\"" + n.value + "\""; },
                 [](const NameExpr& n) { return text_of(n.name); }, [](const BlockExpr& n) { return text_of(n.block); },
                 [](const RegionExpr& n) { return text_of(n.region); },
                 [](const Unary& n) { return (n.op == UnaryOp::negate ? "-" : "sqrt ") + expression_text(*n.operand); },
                 [](const Cast& n) { return fmt::format("({}){}", spelling(n.type), expression_text(*n.operand)); },
                 [](const Binary& n) {
                   return fmt::format("{} {} {}", expression_text(*n.left), spelling(n.op), expression_text(*n.right));
                 },
                 [](const Paren& n) { return "(" + expression_text(*n.inner) + ")"; }},
      e.node);
}

std::string print_ast(const ast::Compilation& compilation, const SourceManager& sources) {
  return Printer(sources).print(compilation);
}

}  // namespace sial
