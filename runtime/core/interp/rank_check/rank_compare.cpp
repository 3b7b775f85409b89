// The part of RankCheck that talks to the other ranks, and what it says.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/rank_check/rank_check.h"
#include "runtime/core/transport/collective.h"

namespace sial {
namespace {

/// The tag of no statement, so that ranks at different ones exchange what they know.
constexpr CollectiveTag exchange_tag{CollectiveKind::other, Place{-1, -1}};

}  // namespace

void RankCheck::synchronise(CollectiveKind kind, std::int32_t pc, bool in_pardo) {
  if (in_pardo_ && !in_pardo) end_pardo();
  log_.kind = kind;
  log_.place = {p_.sequence, pc};
  log_.pardos = pardo_;
  std::vector<RankLog> logs;
  for (const auto& bytes : p_.transport.all_gather(pack(log_), exchange_tag)) logs.push_back(unpack_rank_log(bytes));
  std::string apart;
  for (std::size_t r = 1; r < logs.size() && apart.empty(); ++r) {
    if (logs[r].kind == logs[0].kind && logs[r].place == logs[0].place) continue;
    const auto at = [&](const RankLog& log) {
      CollectiveRecord record;
      record.kind = log.kind;
      record.place = log.place;
      return describe(record, p_.place_name);
    };
    apart = fmt::format("the workers disagree about the next collective: rank 0 is at {}, rank {} is at {}",
                        at(logs[0]), r, at(logs[r]));
  }
  if (const auto d = first_difference(logs, false)) fail(*d, apart);
  compare_uses(logs);
  if (!apart.empty())
    if (const auto d = first_difference(logs, true)) fail(*d, apart);  // otherwise the collectives say what they can
  for (const RankLog& log : logs) pardo_ = std::max(pardo_, log.pardos);
  log_ = {};
  used_.clear();
  snapshots_.clear();
}

RankValue RankCheck::value_of(const UseKey& key) const {
  const auto& [pardo, begin, variable, block] = key;
  const auto found = snapshots_.find(pardo);
  if (found == snapshots_.end() || found->second.begin != begin) return {};
  const Snapshot& then = found->second;
  if (variable.kind != Variable::Kind::array) {
    const auto at = then.registers.find(variable);
    return at == then.registers.end() ? RankValue{} : at->second;
  }
  const auto at = then.arrays.find(variable.array());
  if (at == then.arrays.end()) return {};
  if (block == whole_array) return at->second.whole;
  const auto one = at->second.blocks.find(block);
  return one == at->second.blocks.end() ? RankValue{1, 0, 0, 0, 0, 1}
                                        : one->second;  // a block that this rank does not have
}

void RankCheck::compare_uses(std::span<const RankLog> logs) {
  const std::vector<UseKey> keys = uses_of_all(logs);
  if (keys.empty()) return;
  std::vector<RankValue> mine;
  for (const UseKey& key : keys) mine.push_back(value_of(key));
  std::vector<std::vector<RankValue>> values;
  for (const auto& bytes : p_.transport.all_gather(std::as_bytes(std::span(mine)), exchange_tag)) {
    std::memcpy(values.emplace_back(keys.size()).data(), bytes.data(), keys.size() * sizeof(RankValue));
  }
  if (const auto d = first_difference(logs, keys, values)) fail(*d);
}

std::string RankCheck::variable_name(const Variable& v) const {
  const auto i = static_cast<std::size_t>(v.id);
  switch (v.kind) {
    case Variable::Kind::integer: return p_.module.ints[i].name;
    case Variable::Kind::scalar: return p_.module.scalars[i].name;
    case Variable::Kind::array: break;
  }
  return p_.module.arrays[i].name;
}

std::string RankCheck::source(const PardoShare& share) const {
  return fmt::format("each rank writes its own `{}` at {}, in its iterations of the pardo at {}",
                     variable_name(share.variable), place(share.written), place(share.begin));
}

std::string RankCheck::remedy(const PardoShare& share) const {
  const std::string name = variable_name(share.variable);
  if (share.variable.kind != Variable::Kind::array)
    return fmt::format(
        "add the ranks' values behind `endpardo` with `collective TOTAL += {0}`, `TOTAL` being 0.0 before, and use `TOTAL` instead of `{0}`",
        name);
  return fmt::format(
      "each rank has its own `{0}`, and sees only what it wrote itself: let the pardo `put` the blocks into a distributed array, and `get` "
      "them after a `sip_barrier`; contributions of all ranks are added with `put ... +=`",
      name);
}

/// The values compared, by name where they have one.
std::string RankCheck::condition_text(const EventDifference& d) const {
  const std::string fallback = "the condition";
  if (d.a.compare < 0 || d.a.compare != d.b.compare) return fallback;
  const Instruction& in = p_.module.code[static_cast<std::size_t>(d.a.compare)];
  const bool real = in.op == Opcode::real_compare;
  const std::size_t named = real ? p_.module.scalars.size() : p_.module.ints.size();
  const auto side = [&](std::int32_t reg, double a, double b) {
    if (static_cast<std::size_t>(reg) < named)
      return real ? scalar_register_text(p_.module, reg) : int_register_text(p_.module, reg);
    return a == b ? fmt::format("{}", a) : std::string("...");
  };
  return fmt::format("the condition `{} {} {}`", side(in.b, d.a.left, d.b.left), relop_text(static_cast<Relop>(in.d)),
                     side(in.c, d.a.right, d.b.right));
}

void RankCheck::fail(const EventDifference& d, const std::string& apart) const {
  const RankEvent& a = d.a;
  const RankEvent& b = d.b;
  const bool rightly = a.own || b.own || !a.matters;
  if (a.kind == RankEvent::Kind::condition) {
    std::string text;
    if (a.compare >= 0 && a.compare == b.compare) {
      const std::string_view relop =
          relop_text(static_cast<Relop>(p_.module.code[static_cast<std::size_t>(a.compare)].d));
      const auto side = [&](const RankEvent& e) {
        return fmt::format("{} {} {}, {}", e.left, relop, e.right, e.holds ? "true" : "false");
      };
      text = fmt::format("{} is decided by different values: {} on rank {}; {} on rank {}", condition_text(d), side(a),
                         d.rank_a, side(b), d.rank_b);
    } else {
      text = fmt::format("the condition is {} on rank {} and {} on rank {}", a.holds ? "true" : "false", d.rank_a,
                         b.holds ? "true" : "false", d.rank_b);
    }
    const std::string where = place(a.pc);
    if (rightly)
      throw SialError(
          fmt::format("{}; they parted at {}: {}", apart, where, text),
          "every rank must execute the same barriers and collective statements in the same order: move them out of the branch, or make the "
          "condition the same everywhere",
          where);
    throw SialError(fmt::format("{}; {}{}{}", text, source(a.share), apart.empty() ? "" : "; ", apart), remedy(a.share),
                    where);
  }
  const Instruction& in = p_.module.code[static_cast<std::size_t>(a.pc)];
  std::string what = "the value";
  if (a.kind == RankEvent::Kind::saved || flow_.at(a.pc).sources.size() == 1) {
    Variable v{in.a == 0 ? Variable::Kind::scalar : Variable::Kind::array, in.b};
    if (a.kind == RankEvent::Kind::saved || flow_.variable_of(flow_.at(a.pc).sources.front(), v))
      what = fmt::format("`{}`", variable_name(v));
  }
  const char* done = a.kind == RankEvent::Kind::saved ? "saved" : "printed";
  std::string values = fmt::format("{} on rank {}, {} on rank {}", a.left, d.rank_a, b.left, d.rank_b);
  if (a.hash != 0) values = fmt::format("its elements add up to {}", values);
  throw SialError(
      fmt::format("{} is {} as rank 0 has it, but each rank has its own: {}; {}", what, done, values, source(a.share)),
      remedy(a.share), place(a.pc));
}

void RankCheck::fail(const UseDifference& d) const {
  const RankUse& use = d.use;
  std::string what = fmt::format("`{}`", variable_name(use.variable));
  if (use.variable.kind == Variable::Kind::array && use.block != whole_array)
    what = fmt::format("block `{}`", p_.block_name(use.variable.array(), use.block));
  std::string values = fmt::format("{} on rank {}, {} on rank {}", d.a.value, d.rank_a, d.b.value, d.rank_b);
  if (use.variable.kind == Variable::Kind::array) values = fmt::format("its elements add up to {}", values);
  throw SialError(fmt::format("{} is used in the pardo at {}, but each rank has its own: {}; {}", what,
                              place(use.begin), values, source(use.share)),
                  remedy(use.share), place(use.pc));
}

}  // namespace sial
