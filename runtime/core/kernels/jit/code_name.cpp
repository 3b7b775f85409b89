// Shared by the engine and the code generator.

#include <charconv>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {
namespace {

struct KindName {
  CodeKind kind;
  std::string_view name;
};
constexpr KindName kind_names[] = {
    {CodeKind::tile, "tile"}, {CodeKind::transpose, "transpose"},   {CodeKind::fused, "chain"},
    {CodeKind::pack, "pack"}, {CodeKind::device_fused, "gpuchain"}, {CodeKind::device_sum, "gpusum"}};

}  // namespace

std::string code_name(const CodeKey& key) {
  std::string_view kind = "tile";
  for (const KindName& k : kind_names)
    if (k.kind == key.kind) kind = k.name;
  std::string name(kind);
  for (const std::int32_t p : key.p)
    name += fmt::format("_{}{}", p < 0 ? "m" : "", std::abs(static_cast<std::int64_t>(p)));
  return name;
}

bool code_key_of(std::string_view name, CodeKey& key) {
  const std::size_t end = name.find('_');
  if (end == std::string_view::npos) return false;
  CodeKey found;
  bool known = false;
  for (const KindName& k : kind_names)
    if (k.name == name.substr(0, end)) {
      found.kind = k.kind;
      known = true;
    }
  if (!known) return false;
  const char* at = name.data() + end;
  const char* const last = name.data() + name.size();
  for (std::int32_t& p : found.p) {
    if (at == last || *at++ != '_') return false;
    const bool minus = at != last && *at == 'm';
    if (minus) ++at;
    std::uint32_t n = 0;
    const auto [stop, error] = std::from_chars(at, last, n);
    if (error != std::errc() || n > 0x80000000u || (n == 0x80000000u && !minus)) return false;
    p = static_cast<std::int32_t>(minus ? -static_cast<std::int64_t>(n) : static_cast<std::int64_t>(n));
    at = stop;
  }
  if (at != last || code_name(found) != name) return false;
  key = found;
  return true;
}

}  // namespace sial::kernels
