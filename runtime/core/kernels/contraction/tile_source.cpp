#include "runtime/core/kernels/contraction/tile_source.h"

namespace sial::kernels {
namespace {

// Programs that compute less than this never load a code generator.
constexpr double flops_worth_looking = 5e8;
// From so much on code is made that was not kept from an earlier run: it takes some twenty milliseconds a tile.
constexpr double flops_worth_exact = 2e9;
// Summed positions up to which a tile is generated without a loop over them; beyond, where there are built-in tiles,
// these are as fast or faster.
constexpr std::int64_t longest_exact = 20;

TileCode as_tile(void* code) { return reinterpret_cast<TileCode>(code); }

}  // namespace

TileShape generated_tile_shape(const CpuFacts& facts) {
  // Sums of a tile fill the registers but for the rows and one factor: 12 of 16, 24 of 32.
  if (facts.vector_bits == 512) return {8, 3, 8, 6, 0};
  return {facts.vector_bits / 64, 3, 4, 0, 0};
}

CodeKey tile_key(int vectors, int columns, bool masked, int count) {
  return {CodeKind::tile, {vectors, columns, masked ? 1 : 0, count}};
}

CodeKey pack_key(int vectors, bool across) { return {CodeKind::pack, {vectors, across ? 1 : 0}}; }

void pack_panel(const TileKernels& table, const PackWork& work) {
  const std::int64_t vectors = work.width / table.shape.width;
  if (work.rows == work.width && vectors * table.shape.width == work.width && vectors <= TileKernels::max_vectors) {
    const bool across = !consecutive(work.row_at, work.rows);
    if (const PanelPackCode code = table.panel_packs[static_cast<std::size_t>((vectors - 1) * 2 + (across ? 1 : 0))])
      return code(&work);
  }
  table.pack(work);
}

TileSource::TileSource(CodeEngine& engine)
    : engine_(engine), builtin_(builtin_tiles(engine.facts())), generated_(builtin_) {
  generated_.fast = true;
  // Built-in tiles and packing of the same shape are as good. Tall tiles are generated for exact sums only, those of
  // one column not at all.
  const TileShape shape = generated_tile_shape(engine.facts());
  TileShape alike = builtin_.shape;
  alike.single_column_vectors = shape.single_column_vectors;
  complete_ = builtin_.fast && alike == shape;
  if (complete_) return;
  generated_.shape = shape;
  generated_.codes = {};
}

/// For all tiles, and code that packs; `wait`: until they are there.
void TileSource::ask(bool wait) {
  bool all = true;
  const auto find = [&](const CodeKey& key) { return wait ? engine_.wait(key) : engine_.find(key); };
  for (int v = generated_.shape.max_vectors; v >= 1; --v)
    for (int c = generated_.shape.max_columns; c >= 1; --c)
      for (const bool masked : {false, true}) {
        TileCode& code = generated_.tile(v, c, masked);
        if (code) continue;
        const CodeKey key = tile_key(v, c, masked, 0);
        code = as_tile(find(key));
        all = all && code;
        if (wait && !code) {
          abandoned_ = true;
          return;
        }
      }
  for (int v = 1; v <= generated_.shape.tallest(); ++v)
    for (const bool across : {false, true}) {
      PanelPackCode& code = generated_.panel_packs[static_cast<std::size_t>((v - 1) * 2 + (across ? 1 : 0))];
      if (code) continue;
      const CodeKey key = pack_key(v, across);
      code = reinterpret_cast<PanelPackCode>(find(key));
      all = all && code;
    }
  complete_ = all;
}

bool TileSource::fast() {
  if (builtin_.fast || complete_) return true;
  if (!abandoned_) ask(true);
  return complete_;
}

const TileKernels& TileSource::table(double flops, std::int64_t count) {
  flops_ += flops;
  if (!complete_) {
    // The engine is asked now and then; its lock and its table are not for every small block.
    if (!abandoned_ && flops_ >= flops_worth_looking && (calls_++ & 63) == 0) ask(false);
  }
  if (!uses_generated()) return builtin_;
  if (count > longest_exact) return generated_;
  const auto [at, is_new] = exact_.try_emplace(count);
  ExactKernels& known = at->second;
  if (is_new) known.table = generated_;
  known.flops += flops;
  return known.table;
}

void TileSource::used(std::int64_t count, int vectors, int columns, bool masked) {
  const auto found = exact_.find(count);
  if (found == exact_.end() || vectors > generated_.shape.tallest()) return;
  ExactKernels& known = found->second;
  TileCode& code = known.table.tile(vectors, columns, masked);
  bool& exact = known.exact[static_cast<std::size_t>(&code - known.table.codes.data())];
  if (exact || flops_ < flops_worth_looking) return;
  const CodeKey key = tile_key(vectors, columns, masked, static_cast<int>(count));
  if (void* made = known.flops >= flops_worth_exact ? engine_.find(key) : engine_.find_saved(key)) {
    code = as_tile(made);
    exact = true;
    known.table.tile(vectors, columns, masked, true) = nullptr;
  }
}

}  // namespace sial::kernels
