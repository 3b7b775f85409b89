#pragma once
// The working state of the core checks: one Checker walks every module once, in textual order, fills the CheckedProgram
// and collects per routine (module body or procedure) the facts that the interprocedural checks (calls.h) need. Its
// methods are grouped by idea into declarations.cpp, expressions.cpp, blocks.cpp, forms.cpp, statements.cpp,
// output.cpp, loops.cpp and pragma.cpp. An expression whose mistake was reported has the empty mask: everything built
// on it stays silent.

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/sema/checked.h"
#include "compiler/sema/routine.h"
#include "compiler/sema/symbols.h"
#include "compiler/sema/text.h"

namespace sial::sema {

/// The types an expression may have (grammar/README.md, Expressions), as bits. 0: a mistake in it was reported.
using Mask = unsigned;
inline constexpr Mask may_index = 1, may_int = 2, may_scalar = 4, may_block = 8, may_region = 16, may_array = 32,
                      may_string = 64;

inline bool is(Mask mask, Mask bit) { return (mask & bit) != 0; }

/// A checked block reference.
struct BlockInfo {
  bool ok = false;
  SymbolId array = no_symbol;
  std::vector<Label> labels;
  bool all_simple = false;  // a single element, usable as a scalar
  bool sub_block = false;   // a dimension declared over an index is referenced by one of its subindices
};

class Checker {
 public:
  Checker(const ast::Compilation& compilation, const SourceManager& sources, Emitter& emitter,
          const CheckOptions& options, CheckedProgram& program);
  void run();
  const std::vector<Routine>& routines() const { return routines_; }
  const SymbolTable& symbols() const { return table_; }

 private:
  // ---- names and messages (check.cpp)
  Diagnostic& report(Code code, Span span, std::string message, std::string hint = {});
  void note(Diagnostic& diagnostic, SymbolId id);
  const Symbol& symbol(SymbolId id) const { return program_.symbol(id); }
  bool bounds_an_index(SymbolId id);
  /// Resolves a use; no_symbol after reporting. `kinds`: what would fit here, for suggestions.
  SymbolId resolve(const ast::Name& use, const std::vector<SymbolKind>& kinds = {});
  SymbolId bind_name(const ast::Name& use, SymbolId id);

  // ---- declarations (declarations.cpp)
  void check_module(int module);
  void declare(const ast::Decl& decl);
  void declare_index(const ast::Decl& decl, const ast::IndexDecl& index);
  void declare_subindex(const ast::Decl& decl, const ast::SubindexDecl& sub);
  void declare_array(const ast::Decl& decl, const ast::ArrayDecl& array);
  void declare_special(const ast::Decl& decl, const ast::SpecialDecl& special);
  void declare_proc(const ast::Decl& decl, const ast::ProcDecl& proc);
  void check_modifiers(const ast::Modifiers& modifiers, const ast::Name& name, const char* what, bool predefined,
                       bool contiguous, bool sparse);
  bool check_bound(const ast::RangeBound& bound, ast::IndexKind kind, BoundValue& value);
  void check_range(const ast::IndexDecl& index, const BoundValue& lo, const BoundValue& hi);
  std::int32_t int32(std::int64_t value, Span span);
  Symbol* add_symbol(SymbolKind kind, const ast::Name& name, const ast::Decl* decl);

  // ---- expressions (expressions.cpp)
  Mask infer(const ast::Expr& e);
  Mask infer_node(const ast::Expr& e);
  Mask infer_name(const ast::Expr& e, const ast::NameExpr& name);
  Mask infer_unary(const ast::Expr& e, const ast::Unary& unary);
  Mask infer_cast(const ast::Expr& e, const ast::Cast& cast);
  Mask infer_binary(const ast::Expr& e, const ast::Binary& binary);
  Mask infer_sum(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  Mask infer_product(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  Mask infer_tensor(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  Mask mixing_error(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  /// Decides for `type`, which the mask allows, downwards.
  void choose(const ast::Expr& e, Type type);
  void choose_int(const ast::Expr& e);
  /// Infers and decides for an int or a scalar value; reports when it is not one. `what` begins the message.
  bool want_int(const ast::Expr& e, std::string_view what);
  bool want_scalar(const ast::Expr& e, std::string_view what);
  void report_not_scalar(const ast::Expr& e, Mask mask, std::string_view what);
  void check_relation(const ast::Relation& relation);
  bool is_bare_block(const ast::Expr& e) const;
  std::string type_words(const ast::Expr& e, Mask mask) const;

  // ---- blocks and regions (blocks.cpp)
  BlockInfo check_block(const ast::Block& block, bool slices_allowed = false);
  const BlockInfo& block_info(const ast::Expr& e);
  SymbolId check_label(const ast::Name& name, bool as_simple, Span span, SymbolId array, std::size_t dimension,
                       BlockInfo& info);
  SymbolId check_region(const ast::Region& region);
  SymbolId resolve_array(const ast::Name& name, std::string_view what);
  void use_index(const ast::Name& name, SymbolId id);
  bool no_sub_block(const BlockInfo& info, const ast::Block& block);
  bool contraction_labels(const BlockInfo& l, const BlockInfo& r, Span span, std::vector<Label>& shared,
                          std::vector<Label>& free);

  // ---- forms of block assignments (forms.cpp)
  void assign_block(const ast::Stmt& stmt, const ast::AssignBlock& assign);
  void assign_region(const ast::Stmt& stmt, const ast::AssignRegion& assign);
  void check_put(const ast::Stmt& stmt, const ast::Put& put);
  struct Target {
    const BlockInfo* info;
    const ast::Block* block;
    ast::AssignOp op;
    Span op_span;
  };
  bool block_form(const Target& target, const ast::Expr& value, AssignInfo& form);
  bool copy_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form);
  bool slice_form(const Target& target, const ast::Expr& value, const BlockInfo& from, AssignInfo& form);
  bool sum_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask, AssignInfo& form);
  bool product_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                    AssignInfo& form);
  bool scaled_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                   AssignInfo& form);
  bool region_form(const Target& target, const ast::Expr& value, const ast::Region& region, AssignInfo& form);
  bool scalar_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form);
  void index_set_error(const Target& target, const ast::Expr& value, const std::vector<Label>& found,
                       std::string message, std::string hint);
  void warn_full_contraction(const ast::Expr& value, const std::vector<Label>& target);
  bool same_shape(SymbolId a, SymbolId b, Span span);
  std::string list(const std::vector<Label>& labels) const { return list_text(labels, program_.symbols); }

  // ---- statements (statements.cpp, loops.cpp, pragma.cpp)
  void check_body(const ast::Body& body);
  void check_stmt(const ast::Stmt& stmt);
  void check_node(const ast::Stmt& stmt, const ast::DoLoop& loop);
  void check_node(const ast::Stmt& stmt, const ast::SubLoop& loop);
  void check_node(const ast::Stmt& stmt, const ast::PardoLoop& loop);
  void check_node(const ast::Stmt& stmt, const ast::Section& section);
  void check_node(const ast::Stmt& stmt, const ast::If& branch);
  void check_node(const ast::Stmt& stmt, const ast::GpuSection& section);
  void check_node(const ast::Stmt& stmt, const ast::Call& call);
  void check_node(const ast::Stmt& stmt, const ast::Return&);
  void check_node(const ast::Stmt& stmt, const ast::Stop&);
  void check_node(const ast::Stmt& stmt, const ast::Exit&);
  void check_node(const ast::Stmt& stmt, const ast::Barrier& barrier);
  void check_node(const ast::Stmt& stmt, const ast::Allocate& allocate);
  void check_node(const ast::Stmt& stmt, const ast::AllocateRegion& allocate);
  void check_node(const ast::Stmt& stmt, const ast::Create& create);
  void check_node(const ast::Stmt& stmt, const ast::Delete& erase);
  void check_node(const ast::Stmt& stmt, const ast::Get& get);
  void check_node(const ast::Stmt& stmt, const ast::Put& put) { check_put(stmt, put); }
  void check_node(const ast::Stmt& stmt, const ast::Collective& collective);
  void check_node(const ast::Stmt& stmt, const ast::AssertSame& same);
  void check_node(const ast::Stmt& stmt, const ast::Broadcast& broadcast);
  void check_node(const ast::Stmt& stmt, const ast::Print& print);
  void check_node(const ast::Stmt& stmt, const ast::Inspect& inspect);
  void check_inspected(const ast::Arg& operand, const std::string& function);
  void check_node(const ast::Stmt& stmt, const ast::Execute& execute);
  void check_node(const ast::Stmt& stmt, const ast::Persistent& persistent);
  void check_node(const ast::Stmt& stmt, const ast::GpuOp& op);
  void check_node(const ast::Stmt& stmt, const ast::AssignName& assign);
  void check_node(const ast::Stmt& stmt, const ast::AssignBlock& assign) { assign_block(stmt, assign); }
  void check_node(const ast::Stmt& stmt, const ast::AssignRegion& assign) { assign_region(stmt, assign); }
  void check_argument(const ast::Arg& arg, const Symbol* special);
  void collective_use(const ast::Stmt& stmt, CollectiveKind kind);
  void check_wheres(const std::vector<ast::Relation>& wheres);
  void check_where(const ast::Relation& relation);
  void enter_loop(const ast::Name& name, SymbolId index);
  SymbolId loop_index(const ast::Name& name, const char* keyword);
  std::vector<const ast::Relation*> effective_wheres(const ast::PardoLoop& loop, const std::vector<SymbolId>& indices);

  struct Fragment;
  bool parse_fragment(const std::string& pragma, Fragment& fragment) const;
  ast::ExprPtr synthetic_index(SymbolId id, Span span);
  const ast::Relation* synthetic_relation(ast::ExprPtr left, ast::RelOp op, ast::ExprPtr right, Span span);
  SymbolId fragment_array(const ast::PardoLoop& loop, const std::string& name, const std::vector<Label>& labels);
  const ast::Relation* fragment_test(const ast::PardoLoop& loop, const std::string& array,
                                     const std::vector<Label>& labels, SymbolId f);

  const ast::Compilation& compilation_;
  const SourceManager& sources_;
  Emitter& emitter_;
  const CheckOptions& options_;
  CheckedProgram& program_;
  std::set<SymbolId> bounding_;  // symbols that bound an index, of the first bounding_of_ symbols
  std::size_t bounding_of_ = 0;
  SymbolTable table_;

  int module_ = 0;
  std::vector<Routine> routines_;
  Routine* routine_ = nullptr;
  struct OpenLoop {
    const ast::Stmt* stmt;
    bool pardo;
  };
  std::vector<OpenLoop> loops_;                   // of the routine being walked
  std::vector<std::pair<SymbolId, Span>> bound_;  // indices they bind
  const ast::Stmt* pardo_ = nullptr;              // the pardo around, in this routine
  const ast::Body* body_ = nullptr;               // innermost statement list
  std::unordered_map<const ast::Expr*, Mask> masks_;
  std::unordered_map<const ast::Expr*, BlockInfo> blocks_;
  std::set<std::pair<int, std::string>> reported_names_;  // undeclared, ambiguous or badly declared, by module
};

}  // namespace sial::sema
