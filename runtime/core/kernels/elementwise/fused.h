#pragma once
// Chains of element-wise work on one block, done in one pass over its memory: the block is cut into boxes that stay in
// a cache close to the processor, and every step is taken on a box before the next box is begun. Where operands lie in
// other orders and no cache holds them all, boxes are long in the fastest dimensions of every operand, and what the
// next small part of one needs is fetched while the present one is computed; a target that is not read is assembled
// aside and written in whole lines by non-temporal stores. Each element meets the steps in their order, with a
// multiplication and an addition of their own, never contracted: the bits are those of the same steps taken one after
// the other over the whole block, whether the code is built in or generated. Sources may lie in any order of their own;
// none may share memory with the target unless it is the target, element by element. A runner owns nothing but
// workspace and how it did blocks of the same shapes before, which it keeps from call to call.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/base/energy_differences.h"
#include "runtime/core/kernels/elementwise/fused_rows.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/permute/permute.h"

namespace sial::kernels {

/// An operand with its strides in the order of the target's dimensions.
struct FusedSource {
  const double* data = nullptr;
  std::array<std::int64_t, max_rank> stride{};
};

struct FusedStep {
  FusedOp op = FusedOp::fill;
  double value = 0.0;
  FusedSource a, b;
  const EnergyDifferences* energies = nullptr;  // of divide and multiply
};

/// Steps on a block: does not own them.
struct FusedWork {
  MutableView target;
  std::span<const FusedStep> steps;
};

/// The source whose dimensions are named as those of the target; strides of 0 where the extent is 1. False when the
/// names differ.
bool fused_source(const MutableView& target, const ConstView& source, FusedSource& result);

struct FusedLimits {
  std::int64_t bytes_for_parts =
      0;  // of all operands: from here on what is needed next is fetched; 0: bytes_beyond_caches()
  std::int64_t elements_of_box = 65536;  // of all sources: half of a second-level cache
  bool parts_for_any_sources = false;    // also where boxes are as fast
};

class FusedRunner {
 public:
  static constexpr std::ptrdiff_t none = -1;
  /// `engine`: makes code for chains while they run; may be null, and outlives the runner.
  explicit FusedRunner(CodeEngine* engine = nullptr, FusedLimits limits = {});
  /// The first step that met an element other than zero to be divided by a difference of zero; `none` when all went
  /// well. The target is then undefined.
  std::ptrdiff_t run(const MutableView& target, const std::vector<FusedStep>& steps);
  /// Whether the last run went by parts, and whether it assembled them aside.
  bool by_parts() const { return by_parts_; }
  bool aside() const { return aside_; }

 private:
  /// Differences as sums of tables: over the first two dimensions (shift included), and over each further pair.
  using Tables = std::array<std::vector<double>, max_rank / 2>;
  struct Source {
    const double* data = nullptr;
    std::array<std::int64_t, max_rank> stride{};
    bool self = false;  // the target, element by element
  };
  struct Step {
    FusedOp op = FusedOp::fill;
    double value = 0.0;
    int n_sources = 0;
    std::array<Source, FusedTile::sources_per_step> source;
  };
  using Extents = std::array<std::int64_t, max_rank>;
  static constexpr std::size_t max_operands = 1 + FusedTile::max_steps * FusedTile::sources_per_step;
  /// The places of tiles of these extents.
  struct Offsets {
    Extents extent{};
    std::vector<std::int64_t> list;
  };
  /// Steps that are taken together on a tile.
  struct Group {
    std::size_t first = 0, last = 0;  // last: one after
    int across = -1;           // the tile's second dimension, where sources are contiguous along it; -1: none are
    std::size_t operands = 1;  // the target and each source that is not the target
    FusedCode code = nullptr;
    std::vector<Offsets> offsets;
  };
  /// The plan for blocks of some extents with sources of some strides.
  struct Plan {
    Extents tile{};  // of a box
    Extents part{}, part_stride{};
    int contiguous = 1;  // leading dimensions whose share of a part is one piece of the target
    std::int64_t part_size = 0;
    std::vector<Group> groups;
    bool generated = false;                // the code of all groups is there
    std::int64_t elements = 0, calls = 0;  // until then
  };

  void prepare(const MutableView& target, const std::vector<FusedStep>& steps);
  void join_dimensions(const MutableView& target);
  void make_plan();
  void make_groups();
  FusedCode code_of(const Group& group);
  std::int64_t volume(const Extents& extent) const;
  double* element(double* target, const Extents& at) const;
  std::vector<int> by_stride(const Extents& stride) const;
  /// Calls f(source) for each that is read from memory of its own: neither the target nor a table.
  template <class F>
  void each_operand(F&& f) const {
    for (const Step& s : steps_)
      for (int q = 0; q < s.n_sources && !is_table(s.op); ++q)
        if (!s.source[q].self) f(s.source[q]);
  }
  void choose_box();
  void run_groups(double* target, const Extents& first, const Extents& extent, const Extents& next);
  void run_group(Group& group, double* target, const Extents& first, const Extents& extent, const Extents& next);
  const std::vector<std::int64_t>& offsets_of(Group& group, const Extents& extent);
  void run_tile(const Group& group);
  static void fetch_ahead(const FusedRows& rows, const FusedRows::Source& source, std::int64_t ahead);
  void transpose_source(const FusedRows& rows, FusedRows::Source& source, int number);
  bool advance(Extents& at, const Extents& part, const Extents& first, const Extents& extent) const;

  // By parts.
  bool needs_parts() const;
  void read_target(const double* target);
  void cut_boxes();
  void cut_parts();
  void make_room();
  template <class F>
  void each_piece(double* target, const Extents& first, const Extents& extent, F&& f) const;
  void run_parts(double* target);

  CodeEngine* engine_;
  Permuter permuter_;
  FusedRowsCode rows_;
  std::array<std::vector<double>, FusedTile::sources_per_step> transposed_;  // for built-in loops
  FusedLimits limits_;
  int dims_ = 0;
  Extents extent_{}, target_{};
  std::map<std::vector<std::int64_t>, Plan> plans_;  // by all that they depend on
  std::vector<std::int64_t> shape_;
  std::size_t listed_ = 0;  // offsets in all plans
  Plan* plan_ = nullptr;
  std::ptrdiff_t failed_ = none;  // the first step in the program's order that was to divide by zero
  bool by_parts_ = false, aside_ = false;
  std::unique_ptr<double[]> memory_;  // of a part
  std::int64_t room_ = 0;
  double* assembled_ = nullptr;       // on a cache line
  std::vector<Step> steps_, before_;  // in joined dimensions; in the target's
  std::vector<Tables> tables_;        // by step
  FusedTile work_;
};

}  // namespace sial::kernels
