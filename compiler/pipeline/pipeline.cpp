#include "compiler/pipeline/pipeline.h"

#include <chrono>
#include <functional>

#include "compiler/analysis/print.h"
#include "compiler/ast/imports.h"
#include "compiler/ast/print.h"
#include "compiler/emit/emit.h"
#include "compiler/ir/build.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/plan/local/dead_stores.h"
#include "compiler/plan/local/fold_values.h"
#include "compiler/plan/local/free_early.h"
#include "compiler/plan/local/fused_elementwise.h"
#include "compiler/plan/local/invariants.h"
#include "compiler/plan/local/share_blocks.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/remote/block_reuse.h"
#include "compiler/plan/remote/combined_puts.h"
#include "compiler/plan/remote/discard_values.h"
#include "compiler/plan/remote/idle_barriers.h"
#include "compiler/plan/remote/invariant_gets.h"
#include "compiler/plan/remote/redundant_gets.h"
#include "compiler/plan/remote/retained_copies.h"
#include "compiler/plan/remote/shared_puts.h"
#include "compiler/plan/slice/access_slice.h"
#include "compiler/plan/slice/static_slices.h"
#include "compiler/plan/verify/verify.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/base/sha256.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"

namespace sial {
namespace {

// The state that the passes hand on. Each fills one more field; earlier ones stay, since later values refer to them.
struct Work {
  const std::string& path;
  const CompileOptions& options;
  SourceManager& sources;
  Emitter& emitter;
  std::unique_ptr<ast::Compilation> ast;
  std::unique_ptr<CheckedProgram> checked;
  ir::Program ir, unoptimized;
  plan::Plan plan;
  Module module;
};

struct Pass {
  std::string_view name;
  int level;                       // runs from this optimisation level on
  std::function<bool(Work&)> run;  // false: the program has errors
  std::function<std::string(const Work&)> dump;
};

std::string hash_of_sources(const SourceManager& sources) {
  Sha256 hash;
  for (FileId f = 0; f < sources.file_count(); ++f) hash.update(sources.text(f));
  return hash.hex();
}

void verify_emitted(const Module& module, const std::string& path) {
  std::string refused;
  try {
    verify_module(module, path);
  } catch (const SialError& e) { refused = e.what(); }
  SIAL_CHECK(refused.empty(), "the compiler wrote a module that cannot be loaded: {}", refused);
}

/// An optimisation pass.
Pass planned(std::string_view name, int level, void (*pass)(ir::Program&, plan::Plan&)) {
  return {name, level,
          [=](Work& w) {
            w.plan.level = w.options.optimisation;
            pass(w.ir, w.plan);
            ir::verify(w.ir, name);
            return true;
          },
          [](const Work& w) { return ir::print(w.ir) + plan::print(w.ir, w.plan); }};
}

const std::vector<Pass>& passes() {
  static const std::vector<Pass> list = {
      {"parse", 0,
       [](Work& w) {
         LoadOptions load;
         load.include_dirs = w.options.include_dirs;
         load.texts = w.options.texts;
         load.buffers = w.options.buffers;
         w.ast = load_program(w.sources, w.path, load, w.emitter);
         return w.ast != nullptr;
       },
       [](const Work& w) { return print_ast(*w.ast, w.sources); }},
      {"check", 0,
       [](Work& w) {
         w.checked = check(*w.ast, w.sources, w.emitter, w.options.check);
         return w.checked != nullptr;
       },
       [](const Work& w) {
         return print_ast(*w.ast, w.sources);
       }},  // decisions live beside the tree, which stays as it was
      {"ir", 0,
       [](Work& w) {
         w.ir = ir::build(*w.checked, w.sources);
         ir::save_at_end(w.ir, w.options.saved);
         ir::verify(w.ir, "ir");
         if (w.options.optimisation > 0) w.unoptimized = w.ir;  // what the finished plan is checked against
         return true;
       },
       [](const Work& w) { return ir::print(w.ir); }},
      // -O1 and -O2: what rewrites the program comes before what only describes it.
      planned("static-slices", 1, plan::read_slices_in_place),
      planned("fold-values", 1, plan::fold_values),
      planned("dead-stores", 1, plan::drop_dead_stores),  // also what folding left without a reader
      planned("compute-once", 1, plan::compute_once),
      planned("redundant-gets", 2, plan::drop_redundant_gets),
      planned("block-reuse", 2, plan::point_out_reuse),  // of the loops and gets as they are written
      planned("shared-puts", 2, plan::share_puts),
      planned("combined-puts", 2, plan::combine_puts),
      planned("idle-barriers", 2, plan::drop_idle_barriers),
      planned("kept-copies", 2, plan::keep_copies),        // after idle-barriers: it counts the barriers that are left
      planned("discard-values", 2, plan::discard_values),  // after idle-barriers, too
      planned("invariant-gets", 2, plan::get_once),        // after all that looks for gets in their places
      planned("share-blocks", 1, plan::share_blocks),      // of the copies that are left
      planned("free-early", 1, plan::free_early),          // last uses are known now
      planned("fused-elementwise", 2, plan::fuse_elementwise),  // after all that moves, drops or adds statements
      planned("access-slice", 2, plan::access_slice),           // last: it describes the code that will run
      planned("plan", 0, [](ir::Program&, plan::Plan&) {}),     // the finished plan, for its dump
      {"verify-plan", 1,  // after all passes: checks what they decided against the facts
       [](Work& w) {
         if (!any_fault_enabled())
           plan::verify(w.unoptimized, w.ir, w.plan);  // bugs on purpose are for the tests to find
         return true;
       },
       [](const Work& w) { return ir::print(w.ir) + plan::print(w.ir, w.plan); }},
      {"emit", 0,
       [](Work& w) {
         w.module =
             emit(w.ir, w.plan, {compiler_name(), hash_of_sources(w.sources), w.options.optimisation, w.options.saved});
         return true;
       },
       [](const Work& w) { return disassemble(w.module); }},
      {"verify", 0,  // last: nothing after it may touch the module
       [](Work& w) {
         verify_emitted(w.module, w.path);
         return true;
       },
       [](const Work& w) { return disassemble(w.module); }},
  };
  return list;
}

}  // namespace

std::string compiler_name() { return "sialc " SIALX_VERSION; }

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& p : passes()) names.push_back(p.name);
  return names;
}

CompileResult compile_file(const std::string& path, const CompileOptions& options, SourceManager& sources,
                           Emitter& emitter) {
  CompileResult result;
  Work work{path, options, sources, emitter, nullptr, nullptr, {}, {}, {}, {}};
  for (const Pass& pass : passes()) {
    if (pass.level > options.optimisation) continue;
    const auto start = std::chrono::steady_clock::now();
    const bool good = pass.run(work);
    result.times.push_back(
        {pass.name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    if (!good || emitter.has_errors()) return result;
    if (options.dump_after == pass.name) result.dump = pass.dump(work);
    if (pass.name == "ir" && options.keep_ir) result.unoptimized = work.ir;
    if (pass.name == "ir" && !options.facts.empty()) {
      result.dump = analysis::facts_text(work.ir, options.facts, options.job);
      return result;
    }
    if (options.last_pass == pass.name && pass.name != passes().back().name) return result;
  }
  result.module = std::move(work.module);
  return result;
}

}  // namespace sial
