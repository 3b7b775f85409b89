#include "runtime/core/job/spill.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"
#include "runtime/core/job/job.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view no_tiers = "off", memory_of_nodes = "nodes";
constexpr const char* written_so =
    "DIR:SIZE, for example /scratch:200GB; a folder with `:` or `,` in its name goes into a job file: [memory] "
    "spill = [{dir = \"...\"}]";

/// DIR, DIR:SIZE, nodes or nodes:SIZE.
TierRequest parse_tier(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view place = text.substr(0, colon);
  if (place.empty()) throw InputError(fmt::format("`{}` names no folder", text), written_so);
  if (place == no_tiers) throw InputError("`off` goes with no other place for blocks", "a folder `off` is ./off");
  TierRequest tier;
  if (place == memory_of_nodes) tier.kind = TierKind::nodes;
  else tier.directory = place;
  if (colon != std::string_view::npos) tier.bytes = parse_tier_size(text.substr(colon + 1));
  return tier;
}

/// The same for all ways to write a folder that need no look at the disk.
fs::path plain_path(const std::string& directory) {
  std::error_code none;
  fs::path path = fs::absolute(directory, none).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

bool same_tier(const TierRequest& a, const TierRequest& b) {
  return a.kind == b.kind && (a.kind == TierKind::nodes || plain_path(a.directory) == plain_path(b.directory));
}

}  // namespace

std::uint64_t parse_tier_size(std::string_view text) {
  constexpr std::size_t min_without_unit = 1'000'000;
  const std::optional<std::size_t> bytes = read_memory(text);
  if (!bytes) throw InputError(fmt::format("`{}` is not a size that blocks may take", text), written_so);
  if (*bytes < min_without_unit && read_real(text))
    throw InputError(fmt::format("`{}` without a unit are bytes, too few for blocks", text),
                     fmt::format("with a unit: `{0}GB` or `{0}MB`", text));
  return *bytes;
}

void add_tier(SpillRequest& tiers, TierRequest tier) {
  for (const TierRequest& other : tiers)
    if (same_tier(other, tier))
      throw InputError(tier.kind == TierKind::nodes ? "the memory of other nodes is named twice"
                                                    : fmt::format("the folder `{}` is named twice", tier.directory),
                       "name each place for blocks once");
  tiers.push_back(std::move(tier));
}

SpillRequest parse_spill(std::string_view text) {
  SpillRequest tiers;
  if (text == no_tiers) return tiers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    add_tier(tiers, parse_tier(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return tiers;
}

std::string spill_text(const SpillRequest& tiers) {
  std::string text;
  for (const TierRequest& tier : tiers) {
    if (!text.empty()) text += ',';
    text += tier.kind == TierKind::nodes ? std::string(memory_of_nodes) : tier.directory;
    if (tier.bytes > 0) text += fmt::format(":{}", tier.bytes);
  }
  return text.empty() ? std::string(no_tiers) : text;
}

}  // namespace sial
