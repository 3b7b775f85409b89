#include "runtime/core/super/orbital_ranges.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

constexpr std::array<IndexKind, 3> orbital_kinds{IndexKind::moa, IndexKind::mob, IndexKind::mo};
constexpr std::array<const char*, 3> spin_letters{"a", "b", ""};

bool is_checked(const ArgumentRule& rule) {
  return std::any_of(rule.shapes.begin(), rule.shapes.end(), [](const std::vector<DimensionRule>& shape) {
    return std::any_of(shape.begin(), shape.end(), [](const DimensionRule& d) {
      return d.strict && (d.range == OrbitalRange::occupied || d.range == OrbitalRange::virtual_);
    });
  });
}

/// "virtual, occupied, virtual, occupied".
std::string order_words(const std::vector<DimensionRule>& wanted) {
  std::string text;
  for (const DimensionRule& d : wanted)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", d.range == OrbitalRange::occupied ? "occupied" : "virtual");
  return text;
}

}  // namespace

OrbitalRanges::OrbitalRanges(const JobData& job) {
  for (std::size_t k = 0; k < orbital_kinds.size(); ++k) {
    const auto value = [&](const char* before, const char* after) -> std::optional<std::int32_t> {
      const auto it = job.ints.find(fmt::format("{}{}{}", before, spin_letters[k], after));
      return it == job.ints.end() ? std::nullopt : std::optional(it->second);
    };
    const auto last_occupied = value("e", "occ"), first_virtual = value("b", "virt"), last_virtual = value("e", "virt");
    const auto table = job.segments.find(orbital_kinds[k]);
    if (!last_occupied || !first_virtual || !last_virtual || table == job.segments.end()) continue;
    const std::vector<std::int32_t>& extents = table->second;
    const auto n = static_cast<std::int32_t>(extents.size());
    if (*last_occupied < 0 || *last_occupied >= *first_virtual || *first_virtual < 1 || *first_virtual > n + 1 ||
        *last_virtual > n)
      continue;
    const auto before = [&](std::int32_t segments) {
      return std::accumulate(extents.begin(), extents.begin() + segments, std::int64_t{0});
    };
    ranges_[k] = {true,
                  *last_occupied,
                  *first_virtual,
                  *last_virtual,
                  before(*last_occupied),
                  before(*first_virtual - 1),
                  before(std::max(*last_virtual, *first_virtual - 1))};
  }
}

OrbitalRange OrbitalRanges::side(const SuperArg& arg, int dimension) const {
  if (arg.whole_array) return OrbitalRange::any;
  const bool number = arg.kind[dimension] == IndexKind::simple;
  const auto kind = std::find(orbital_kinds.begin(), orbital_kinds.end(), arg.kind[dimension]);
  if (!number && kind == orbital_kinds.end()) return OrbitalRange::any;
  const Ranges& alpha = ranges_[0].known ? ranges_[0] : ranges_[2];
  const Ranges& r = number ? alpha : ranges_[static_cast<std::size_t>(kind - orbital_kinds.begin())];
  if (!r.known) return OrbitalRange::any;
  const std::int32_t at = arg.segment[dimension];
  if (number) {
    // The spin of the orbital does not show: it counts where both agree.
    const Ranges& beta = ranges_[1].known ? ranges_[1] : alpha;
    if (at >= 1 && at <= std::min(alpha.occupied_orbitals, beta.occupied_orbitals)) return OrbitalRange::occupied;
    return at > std::max(alpha.virtual_from, beta.virtual_from) && at <= std::min(alpha.virtual_end, beta.virtual_end)
               ? OrbitalRange::virtual_
               : OrbitalRange::any;
  }
  if (at >= 1 && at <= r.last_occupied) return OrbitalRange::occupied;
  return at >= r.first_virtual && at <= r.last_virtual ? OrbitalRange::virtual_ : OrbitalRange::any;
}

void OrbitalRanges::check(std::string_view instruction, std::span<const SuperArg> args,
                          std::span<const ArgumentRule> rules) const {
  for (std::size_t k = 0; k < std::min(args.size(), rules.size()); ++k) {
    if (args[k].is_scalar || !is_checked(rules[k])) continue;
    const std::vector<DimensionRule> wanted = rules[k].of_rank(args[k].shape.rank);
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      if (!wanted[d].strict || (wanted[d].range != OrbitalRange::occupied && wanted[d].range != OrbitalRange::virtual_))
        continue;
      const OrbitalRange found = side(args[k], static_cast<int>(d));
      if (found == OrbitalRange::any || found == wanted[d].range) continue;
      if (wanted.size() == 2 || side(args[k], static_cast<int>(d ^ 1)) != found) continue;
      throw SialError(fmt::format("dimension {} of {} holds {}, and `{}` takes it for {}", d + 1,
                                  describe(args[k], static_cast<int>(k)), range_words(found), instruction,
                                  range_words(wanted[d].range)),
                      fmt::format("pass a block whose dimensions are {}; `sialc --explain {}` says more",
                                  order_words(wanted), instruction));
    }
  }
}

std::span<const ArgumentRule> orbital_rules(std::string_view name) {
  static const std::map<std::string, std::vector<ArgumentRule>, std::less<>> checked = [] {
    std::map<std::string, std::vector<ArgumentRule>, std::less<>> rules;
    const auto add = [&](const char* instruction, const char* arguments) {
      std::vector<ArgumentRule> all = argument_rules(arguments);
      if (std::any_of(all.begin(), all.end(), is_checked)) rules.emplace(instruction, std::move(all));
    };
#define SUPER_ARGUMENTS(name, arguments, formula, source) add(#name, arguments);
#include "tables/super_arguments.def"
#undef SUPER_ARGUMENTS
    return rules;
  }();
  const auto found = checked.find(name);
  return found == checked.end() ? std::span<const ArgumentRule>() : std::span<const ArgumentRule>(found->second);
}

}  // namespace sial
