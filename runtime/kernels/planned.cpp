// The kernels that programs run with: every contraction as its plan says, by register tiles or by the BLAS; all else as the BLAS
// kernels do it. Plans are kept by descriptor, so that blocks met again cost one look-up.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "runtime/base/error.h"
#include "runtime/kernels/contraction.h"
#include "runtime/kernels/implementations.h"
#include "runtime/kernels/scratch.h"
#include "runtime/kernels/team.h"
#include "runtime/kernels/tile_source.h"

#include <fmt/format.h>

namespace sial::kernels {
namespace {

// Waking threads takes some ten microseconds.
constexpr double worth_sharing = 4e6;  // floating-point operations

/// Everything about an operation but its data and factors.
struct Signature {
  static constexpr int per_operand = 1 + 3 * max_rank;
  std::array<std::int64_t, 3 * per_operand> v{};

  explicit Signature(const BlockOp& op) {
    std::int64_t* to = v.data();
    const auto add = [&](const auto& view) {
      to[0] = view.rank;
      for (int d = 0; d < view.rank; ++d) to[1 + 3 * d] = view.extent[d], to[2 + 3 * d] = view.stride[d], to[3 + 3 * d] = view.label[d];
      to += per_operand;
    };
    add(op.d);
    add(op.a);
    add(op.b);
  }
  bool operator==(const Signature& other) const { return std::memcmp(v.data(), other.v.data(), sizeof v) == 0; }
};

struct SignatureHash {
  std::size_t operator()(const Signature& s) const {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (const std::int64_t x : s.v) h = (h ^ static_cast<std::uint64_t>(x)) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return static_cast<std::size_t>(h);
  }
};

class PlannedKernels final : public Kernels {
 public:
  PlannedKernels(BufferResource& workspace, const KernelOptions& options)
      : workspace_(workspace), options_(options), engine_(make_code_engine({options.jit, options.jit_at_once || !options.jit_cpu.empty(), options.jit_cpu, options.jit_cache})),
        tiles_(*engine_), blas_(make_blas_kernels(workspace)), tables_(static_cast<std::size_t>(std::max(1, options.threads))) {
    if (options.threads > 1) team_ = std::make_unique<Team>(options.threads);
  }

  const char* name() const override { return "auto"; }

  void run(const BlockOp& op) override {
    if (!op.has_b) {
      last_ = {"copy", nullptr};
      return blas_->run(op);
    }
    const Planned& planned = plan_of(op);
    last_ = {way_name(planned.way), &planned.plan.why};
    switch (planned.way) {
      case Way::nothing: return;
      case Way::plain: return run_plain(op, resolve(op));
      case Way::blas: return blas_->run(op);
      case Way::tiles: break;
    }
    const TileKit& kit = tiles_.kit(planned.flops);
    const ContractionPlan& plan = kit.shape.width == planned.width ? planned.plan : planned.other;
    Scratch rows(workspace_), columns(workspace_);
    const int parts = parts_of(planned);
    const std::int64_t row_panel = row_panel_size(plan, kit.shape, parts > 1), column_panel = column_panel_size(plan, kit.shape);
    ContractionWork work;
    work.d = op.d.data;
    work.x = plan.swapped ? op.b.data : op.a.data;
    work.y = plan.swapped ? op.a.data : op.b.data;
    work.alpha = op.alpha;
    work.beta = op.beta;
    if (row_panel) work.row_panels = rows.allocate(row_panel * parts);
    if (column_panel) work.column_panels = columns.allocate(column_panel * parts);
    work.last_row = plan.m;
    work.last_column = plan.n;
    if (parts == 1) return run_tiles(plan, kit, work, tables_.front());
    // Every part has elements of D of its own, and an element is computed alike in any part: threads change no rounding.
    const bool by_columns = plan.n >= plan.m;
    team_->run([&](int part) {
      ContractionWork own = work;
      const auto bounds = [&](std::int64_t n, std::int64_t& first, std::int64_t& last) { first = n * part / parts, last = n * (part + 1) / parts; };
      if (by_columns) bounds(plan.n, own.first_column, own.last_column);
      else bounds(plan.m, own.first_row, own.last_row);
      if (row_panel) own.row_panels += row_panel * part;
      if (column_panel) own.column_panels += column_panel * part;
      run_tiles(plan, kit, own, tables_[static_cast<std::size_t>(part)]);
    });
  }

  std::array<std::int64_t, 3> workspace(const BlockOp& op) const override {
    if (!op.has_b) return blas_->workspace(op);
    const Planned& planned = plan_of(op);
    if (planned.way == Way::blas) return blas_->workspace(op);
    if (planned.way != Way::tiles) return {};
    const auto shapes = tiles_.shapes();
    const std::int64_t parts = parts_of(planned);
    return {std::max(row_panel_size(planned.plan, shapes[0], parts > 1), row_panel_size(planned.other, shapes[1], parts > 1)) * parts,
            std::max(column_panel_size(planned.plan, shapes[0]), column_panel_size(planned.other, shapes[1])) * parts, 0};
  }

  double dot(const ConstView& a, const ConstView& b) override { return blas_->dot(a, b); }

  std::string explain(const BlockOp& op) const override {
    if (!op.has_b) return blas_->explain(op);
    const Planned& planned = plan_of(op);
    switch (planned.way) {
      case Way::nothing: return "nothing to do";
      case Way::plain: return "plain loops: an empty sum";
      case Way::blas: return planned.plan.why;
      case Way::tiles: return "register tiles, " + planned.plan.why;
    }
    return {};
  }

  KernelChoice last_choice() const override { return last_; }

  CodeStats code_stats() const override { return engine_->stats(); }

 private:
  enum class Way { nothing, plain, blas, tiles };
  static const char* way_name(Way way) {
    switch (way) {
      case Way::nothing: break;
      case Way::plain: return "plain loops";
      case Way::blas: return "blas";
      case Way::tiles: return "tiles";
    }
    return "nothing";
  }

  struct Planned {
    Way way = Way::nothing;
    ContractionPlan plan, other;  // for built-in and for generated tiles
    int width = 0;                // of the built-in ones
    double flops = 0;
  };

  int parts_of(const Planned& planned) const { return team_ && planned.flops >= worth_sharing ? team_->size() : 1; }

  const Planned& plan_of(const BlockOp& op) const {
    // Programs have few descriptors; a stream of ever new ones must not fill the memory.
    constexpr std::size_t most_plans = 4096;
    const Signature signature(op);
    if (const auto found = plans_.find(signature); found != plans_.end()) return found->second;
    if (plans_.size() >= most_plans) plans_.clear();
    return plans_.emplace(signature, make_plan(op)).first->second;
  }

  Planned make_plan(const BlockOp& op) const {
    const LoopSpace space = resolve(op);
    const std::int64_t m = volume(space.rows), n = volume(space.columns), k = volume(space.summed);
    Planned planned;
    if (m == 0 || n == 0) return planned;
    planned.way = k == 0 ? Way::plain : m == 1 && n == 1 ? Way::blas : Way::tiles;
    if (planned.way == Way::blas) planned.plan.why = "inner product";
    if (planned.way != Way::tiles) return planned;
    const bool fast = tiles_.fast();
    const auto shapes = tiles_.shapes();
    planned.plan = choose(contraction_choices(space, shapes[0], fast));
    planned.other = shapes[1].width == shapes[0].width ? planned.plan : choose(contraction_choices(space, shapes[1], fast));
    // One strategy for both: results must not depend on which tiles are ready.
    if (planned.plan.strategy == Strategy::blas || planned.other.strategy == Strategy::blas) {
      planned.way = Way::blas;
      if (planned.plan.strategy != Strategy::blas) planned.plan = planned.other;
    }
    planned.width = shapes[0].width;
    planned.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return planned;
  }

  ContractionPlan choose(std::vector<ContractionChoice> choices) const {
    if (!options_.strategy.empty())
      for (ContractionChoice& choice : choices)
        if (choice.name == options_.strategy) return std::move(choice.plan);
    return std::move(choices.front().plan);
  }

  BufferResource& workspace_;
  const KernelOptions options_;
  std::shared_ptr<CodeEngine> engine_;
  mutable TileSource tiles_;
  std::unique_ptr<Kernels> blas_;
  mutable std::unordered_map<Signature, Planned, SignatureHash> plans_;
  std::unique_ptr<Team> team_;               // null: one thread
  std::vector<ContractionTables> tables_;    // of each thread
  KernelChoice last_;
};

}  // namespace

std::unique_ptr<Kernels> make_planned_kernels(BufferResource& workspace, const KernelOptions& options) {
  return std::make_unique<PlannedKernels>(workspace, options);
}

}  // namespace sial::kernels
