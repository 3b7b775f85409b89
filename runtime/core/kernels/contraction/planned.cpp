// The kernels that programs run with: every contraction as its plan says, by register tiles or by the BLAS; all else as
// the BLAS kernels do it. Plans are kept by descriptor, so that blocks met again cost one look-up.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/contraction/tile_source.h"
#include "runtime/core/kernels/cpu/scratch.h"
#include "runtime/core/kernels/cpu/team.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/permute/strided.h"

#include <fmt/format.h>

namespace sial::kernels {
namespace {

// Waking threads takes some ten microseconds.
constexpr double worth_sharing = 4e6;  // floating-point operations

// One in so many runs of an operation tells which tiles it is made of.
constexpr int runs_per_note = 32;
// Tables are kept of operations up to so many rows, columns and summed positions, for so many plans: some 60 MB at
// most, and 30 MB of calls.
constexpr std::int64_t max_saved_size = 4096;
constexpr std::size_t max_saved = 512;

/// Everything about an operation but its data and factors: per dimension its stride, and its extent and label in one
/// word. Made for every operation: nothing of it is written that is not read.
struct Signature {
  std::array<std::int64_t, 3 * 2 * max_rank + 1> v;  // NOLINT(cppcoreguidelines-pro-type-member-init): the first `size`
  std::int32_t size = 1;
  bool whole = true;  // false: extents or labels do not fit
  std::uint64_t hash = 0;

  explicit Signature(const BlockOp& op) {  // NOLINT(cppcoreguidelines-pro-type-member-init)
    // Two chains at once: a multiplication waits for the one before it.
    std::uint64_t h = 0x9e3779b97f4a7c15u, g = 0xff51afd7ed558ccdu;
    std::int64_t beyond = 0;
    const auto add = [&](const auto& view) {
      for (int d = 0; d < view.rank; ++d) {
        beyond |= view.extent[d] >> label_shift | static_cast<std::int64_t>(view.label[d]) >> (63 - label_shift);
        const std::int64_t stride = view.stride[d], place = view.extent[d] | static_cast<std::int64_t>(view.label[d])
                                                                                 << label_shift;
        v[static_cast<std::size_t>(size++)] = stride;
        v[static_cast<std::size_t>(size++)] = place;
        h = (h ^ static_cast<std::uint64_t>(stride)) * 0xff51afd7ed558ccdu;
        g = (g ^ static_cast<std::uint64_t>(place)) * 0xc4ceb9fe1a85ec53u;
      }
    };
    v[0] = op.d.rank | op.a.rank << 8 | op.b.rank << 16;
    add(op.d);
    add(op.a);
    add(op.b);
    whole = beyond == 0;
    h ^= static_cast<std::uint64_t>(v[0]);
    h ^= h >> 32, g ^= g >> 29;
    hash = h * 0x9e3779b97f4a7c15u + g;
    hash ^= hash >> 32;
  }
  bool operator==(const Signature& other) const {
    return hash == other.hash && size == other.size &&
           std::memcmp(v.data(), other.v.data(), static_cast<std::size_t>(size) * sizeof v[0]) == 0;
  }

 private:
  static constexpr int label_shift = 40;
};

struct SignatureHash {
  std::size_t operator()(const Signature& s) const { return s.hash; }
};

class PlannedKernels final : public Kernels {
 public:
  PlannedKernels(BufferResource& workspace, const KernelOptions& options)
      : workspace_(workspace),
        options_(options),
        engine_(make_code_engine(
            {options.jit, options.jit_at_once || !options.jit_cpu.empty(), options.jit_cpu, options.jit_cache})),
        tiles_(*engine_),
        blas_(make_blas_kernels(workspace, engine_.get())),
        tables_(static_cast<std::size_t>(std::max(1, options.threads))) {
    if (options.threads > 1) team_ = std::make_unique<Team>(options.threads);
  }

  const char* name() const override { return "auto"; }

  void run(const BlockOp& op) override {
    prefetches_.drop(op.a.data, op.has_b ? op.b.data : nullptr);
    if (!op.has_b) {
      last_ = {"copy", nullptr};
      return blas_->run(op);
    }
    const Planned& planned = plan_of(op);
    last_ = {method_name(planned), &planned.plan.why};
    switch (planned.method) {
      case Method::nothing: return;
      case Method::plain: return run_plain(op, resolve(op));
      case Method::inner: return run_inner(op, planned.pairs);
      case Method::blas: return blas_->run(op);
      case Method::tiles: break;
    }
    const TileKernels& table = tiles_.table(planned.flops, planned.plan.sum_block);
    const ContractionStrategy& plan = table.shape.width == planned.width ? planned.plan : planned.other;
    Scratch rows(workspace_), columns(workspace_);
    const int parts = parts_of(planned);
    const std::int64_t row_panel = row_panel_size(plan, parts > 1), column_panel = column_panel_size(plan);
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
    if (parts == 1) {
      work.near = &prefetches_;
      prefetches_.begin(planned.flops, 2 * products_per_cycle * plan.tile.width);
      ContractionTables& tables = planned.tables ? *planned.tables : tables_.front();
      if (!planned.tables) tables.of = nullptr;  // whatever plan lay at this address
      if (is_memory_bound(plan)) return run_memory_bound(plan, table, work, tables);
      run_tiles(plan, table, work, tables);
      if (planned.runs++ % runs_per_note == 0 && tiles_.uses_generated()) record_tiles(plan, tables);
      return;
    }
    // Every part has elements of D of its own, and an element is computed alike in any part: threads change no
    // rounding.
    const bool by_columns = plan.n >= plan.m;
    team_->run([&](int part) {
      ContractionWork own = work;
      const auto bounds = [&](std::int64_t n, std::int64_t& first, std::int64_t& last) {
        first = n * part / parts, last = n * (part + 1) / parts;
      };
      if (by_columns) bounds(plan.n, own.first_column, own.last_column);
      else bounds(plan.m, own.first_row, own.last_row);
      if (row_panel) own.row_panels += row_panel * part;
      if (column_panel) own.column_panels += column_panel * part;
      ContractionTables& tables = tables_[static_cast<std::size_t>(part)];
      tables.of = nullptr;
      run_tiles(plan, table, own, tables);
    });
  }

  std::array<std::int64_t, 3> workspace(const BlockOp& op) const override {
    if (!op.has_b) return blas_->workspace(op);
    const Planned& planned = plan_of(op);
    if (planned.method == Method::blas) return blas_->workspace(op);
    if (planned.method != Method::tiles) return {};
    const std::int64_t parts = parts_of(planned);
    return {std::max(row_panel_size(planned.plan, parts > 1), row_panel_size(planned.other, parts > 1)) * parts,
            std::max(column_panel_size(planned.plan), column_panel_size(planned.other)) * parts, 0};
  }

  void expect(const double* data, std::int64_t elements) override { prefetches_.expect(data, elements); }

  double dot(const ConstView& a, const ConstView& b) override { return blas_->dot(a, b); }

  std::string explain(const BlockOp& op) const override {
    if (!op.has_b) return blas_->explain(op);
    const Planned& planned = plan_of(op);
    switch (planned.method) {
      case Method::nothing: return "nothing to do";
      case Method::plain: return "plain loops: an empty sum";
      case Method::inner:
      case Method::blas: return planned.plan.why;
      case Method::tiles: return (is_memory_bound(planned.plan) ? "" : "register tiles, ") + planned.plan.why;
    }
    return {};
  }

  double cycles(const BlockOp& op) const override {
    const auto positions = [](const auto& view) {
      double n = 1;
      for (int d = 0; d < view.rank; ++d) n *= static_cast<double>(view.extent[d]);
      return n;
    };
    if (!op.has_b) return positions(op.d);
    const Planned& planned = plan_of(op);
    switch (planned.method) {
      case Method::nothing: return 0.0;
      case Method::plain: return positions(op.d);
      case Method::inner: return positions(op.a) / 2 + 50;
      case Method::blas:
      case Method::tiles: break;
    }
    return planned.cycles;
  }

  KernelChoice last_choice() const override { return last_; }

  CodeStats code_stats() const override { return engine_->stats(); }
  CodeEngine* code_engine() override { return engine_.get(); }

 private:
  enum class Method { nothing, plain, inner, blas, tiles };

  struct Planned {
    Method method = Method::nothing;
    std::vector<PairDim> pairs;       // of an inner product, fused
    ContractionStrategy plan, other;  // for built-in and for generated tiles
    int width = 0;                    // of the built-in ones
    double cycles = 0;                // of the best plan by fixed constants
    double flops = 0;
    mutable std::uint32_t runs = 0;
    std::unique_ptr<ContractionTables> tables;  // of small operations, which would take longer to make them than to run
  };

  static const char* method_name(const Planned& planned) {
    switch (planned.method) {
      case Method::nothing: break;
      case Method::plain: return "plain loops";
      case Method::inner: return "inner product";
      case Method::blas: return "blas";
      case Method::tiles:
        return planned.plan.strategy == Strategy::outer    ? "outer product"
               : planned.plan.strategy == Strategy::vector ? "matrix-vector"
                                                           : "tiles";
    }
    return "nothing";
  }

  static void run_inner(const BlockOp& op, const std::vector<PairDim>& pairs) {
    const double value = op.alpha * inner_product(op.a.data, op.b.data, pairs);
    *op.d.data = op.beta == 0.0 ? value : value + op.beta * *op.d.data;
  }

  /// Records the tiles that the operation that just ran was made of.
  void record_tiles(const ContractionStrategy& plan, const ContractionTables& tables) {
    const auto& tiles = tables.tiles;
    const auto used = [&](std::int64_t columns) {
      // The first run shows them all, the last one what is left at the end.
      for (std::size_t i = 0; i < tiles.size(); i = i < 3 || i + 1 == tiles.size() ? i + 1 : tiles.size() - 1)
        tiles_.used(plan.sum_block, tiles[i].vectors, static_cast<int>(columns),
                    tiles[i].rows != static_cast<std::int64_t>(tiles[i].vectors) * plan.tile.width);
    };
    const std::int64_t block = std::min(plan.n, plan.column_block);
    for (const std::int64_t columns : {block, plan.n % block}) {
      if (columns == 0) continue;
      const BalancedSplit cut(columns, plan.tile.max_columns);
      used(cut.large);
      if (cut.few > 0) used(cut.small);
    }
  }

  int parts_of(const Planned& planned) const {
    return team_ && planned.flops >= worth_sharing && !is_memory_bound(planned.plan) && !is_memory_bound(planned.other)
               ? team_->size()
               : 1;
  }

  const Planned& plan_of(const BlockOp& op) const {
    // Programs have few descriptors; a stream of ever new ones must not fill the memory.
    constexpr std::size_t max_plans = 4096;
    const Signature signature(op);
    if (!signature.whole) {
      last_.why = nullptr;  // perhaps the plan's that goes now
      return single_ = make_plan(op);
    }
    const Known*& last = met_[signature.hash % met_.size()];
    if (last && last->first == signature) return last->second;
    if (const auto found = plans_.find(signature); found != plans_.end()) return (last = &*found)->second;
    if (plans_.size() >= max_plans) {
      plans_.clear();
      met_ = {};
      last_.why = nullptr;
    }
    const auto made = plans_.emplace(signature, make_plan(op)).first;
    met_[signature.hash % met_.size()] = &*made;
    return made->second;
  }

  Planned make_plan(const BlockOp& op) const {
    const LoopSpace space = resolve(op);
    const std::int64_t m = volume(space.rows), n = volume(space.columns), k = volume(space.summed);
    Planned planned;
    if (m == 0 || n == 0) return planned;
    planned.method = k == 0 ? Method::plain : m == 1 && n == 1 ? Method::inner : Method::tiles;
    if (planned.method == Method::inner) {
      planned.plan.why = "inner product";
      for (const LoopDim& dim : space.summed) planned.pairs.push_back({dim.extent, dim.a, dim.b});
      fuse(planned.pairs);
    }
    if (planned.method != Method::tiles) return planned;
    const bool fast = tiles_.fast();
    const auto shapes = tiles_.shapes();
    Chosen chosen = choose(space, shapes[0], fast),
           other = shapes[1].width == shapes[0].width ? chosen : choose(space, shapes[1], fast);
    // One strategy for both: results must not depend on which tiles are ready.
    if (chosen.plan.strategy == Strategy::blas || other.plan.strategy == Strategy::blas) {
      planned.method = Method::blas;
      if (chosen.plan.strategy != Strategy::blas) chosen = other;
    }
    planned.cycles = chosen.fixed_cycles;
    planned.plan = std::move(chosen.plan);
    planned.other = std::move(other.plan);
    planned.width = shapes[0].width;
    if (m + n + k <= max_saved_size && plans_.size() < max_saved) {
      planned.tables = std::make_unique<ContractionTables>();
      planned.tables->keeps_calls = true;
    }
    planned.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return planned;
  }

  struct Chosen {
    ContractionStrategy plan;
    double fixed_cycles = 0;  // the least
  };

  Chosen choose(const LoopSpace& space, const TileShape& shape, bool fast) const {
    std::vector<ContractionChoice> choices = contraction_choices(space, shape, fast, blas_bits_, options_.costs.get());
    if (!options_.strategy.empty())
      for (ContractionChoice& choice : choices)
        if (choice.name == options_.strategy) {
          const double fixed_cycles = choice.plan.fixed_cycles;
          return {std::move(choice.plan), fixed_cycles};
        }
    const auto least =
        std::min_element(choices.begin(), choices.end(), [](const ContractionChoice& p, const ContractionChoice& q) {
          return p.plan.fixed_cycles < q.plan.fixed_cycles;
        });
    const double fixed_cycles = least->plan.fixed_cycles;
    return {std::move(choices.front().plan), fixed_cycles};
  }

  BufferResource& workspace_;
  const KernelOptions options_;
  std::shared_ptr<CodeEngine> engine_;
  mutable TileSource tiles_;
  std::unique_ptr<Kernels> blas_;
  const int blas_bits_ = blas_vector_bits();
  using Known = std::pair<const Signature, Planned>;
  mutable std::unordered_map<Signature, Planned, SignatureHash> plans_;
  mutable std::array<const Known*, 256> met_{};  // the plans met last, by their hash
  mutable Planned single_;                       // of an operation that is not kept
  std::unique_ptr<Team> team_;                   // null: one thread
  std::vector<ContractionTables> tables_;        // of each thread
  PrefetchQueue prefetches_;
  mutable KernelChoice last_;
};

}  // namespace

std::unique_ptr<Kernels> make_planned_kernels(BufferResource& workspace, const KernelOptions& options) {
  return std::make_unique<PlannedKernels>(workspace, options);
}

}  // namespace sial::kernels
