#include "runtime/core/kernels/interface/fused_tile.h"

namespace sial::kernels {

namespace {

constexpr std::size_t fetching = 9;  // the number in a key that says whether sources are fetched ahead

}  // namespace

CodeKey fused_key(std::span<const FusedCodeStep> steps, bool fetches) {
  static_assert(fetching > FusedTile::max_steps);
  CodeKey key;
  key.p[fetching] = fetches ? 1 : 0;
  key.kind = CodeKind::fused;
  key.p[0] = static_cast<std::int32_t>(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    std::int32_t number = static_cast<std::int32_t>(steps[k].op), factor = 16;
    for (const SourceForm form : steps[k].form) {
      number += factor * static_cast<std::int32_t>(form);
      factor *= 8;
    }
    key.p[k + 1] = number;
  }
  return key;
}

FusedCodeStep fused_step_of(const CodeKey& key, int number) {
  std::int32_t rest = key.p[static_cast<std::size_t>(number) + 1];
  FusedCodeStep step;
  step.op = static_cast<FusedOp>(rest % 16);
  rest /= 16;
  for (SourceForm& form : step.form) {
    form = static_cast<SourceForm>(rest % 8);
    rest /= 8;
  }
  return step;
}

bool fused_fetches(const CodeKey& key) { return key.p[fetching] != 0; }

bool is_fused_key(const CodeKey& key) {
  if (key.kind != CodeKind::fused || key.p[fetching] < 0 || key.p[fetching] > 1 || key.p[0] < 1 ||
      key.p[0] > FusedTile::max_steps)
    return false;
  for (int k = 0; k < key.p[0]; ++k) {
    const FusedCodeStep step = fused_step_of(key, k);
    if (key.p[static_cast<std::size_t>(k) + 1] < 0 || step.op > FusedOp::multiply) return false;
    std::size_t present = 0;
    while (present < step.form.size() && step.form[present] != SourceForm::absent) ++present;
    for (std::size_t q = 0; q < step.form.size(); ++q)
      if (step.form[q] > SourceForm::self || (q >= present && step.form[q] != SourceForm::absent)) return false;
    switch (step.op) {
      case FusedOp::copy:
      case FusedOp::scaled_copy:
      case FusedOp::accumulate:
        if (present != 1) return false;
        break;
      case FusedOp::sum:
        if (present != 2) return false;
        break;
      case FusedOp::divide:
      case FusedOp::multiply:
        if (present == 0) return false;
        break;
      default:
        if (present != 0) return false;
    }
  }
  return true;
}

}  // namespace sial::kernels
