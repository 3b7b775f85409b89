#include "tests/bench/chains/chain_problem.h"

#include <algorithm>
#include <cmath>

namespace bench {

using sial::ConstView;
using sial::kernels::FusedOp;
using sial::kernels::FusedSource;
using sial::kernels::FusedStep;

const std::vector<FusedCase>& chain_cases() {
  static const std::vector<FusedCase> list = {
      {"2x - y", "aibj", {{FusedOp::scaled_copy, 2.0, "x:aibj", ""}, {FusedOp::accumulate, -1.0, "y:aibj", ""}}},
      {"2x - x[ajbi]", "aibj", {{FusedOp::scaled_copy, 2.0, "x:aibj", ""}, {FusedOp::accumulate, -1.0, "y:ajbi", ""}}},
      {"2x - x[biaj]", "aibj", {{FusedOp::scaled_copy, 2.0, "x:aibj", ""}, {FusedOp::accumulate, -1.0, "y:biaj", ""}}},
      {"t + x[biaj]", "aibj", {{FusedOp::accumulate, 1.0, "x:biaj", ""}}},
      {"(x[baji] + x) / 2",
       "abij",
       {{FusedOp::copy, 1.0, "x:baji", ""}, {FusedOp::accumulate, 1.0, "y:abij", ""}, {FusedOp::scale, 0.5, "", ""}}},
      {"4t - x - x, 2t",
       "aibj",
       {{FusedOp::scale, 4.0, "", ""},
        {FusedOp::accumulate, -1.0, "x:aibj", ""},
        {FusedOp::accumulate, -1.0, "x:aibj", ""},
        {FusedOp::scale, 0.5, "", ""}}},
      {"doubles residual",
       "aibj",
       {{FusedOp::sum, 1.0, "x:aibj", "y:aibj"},
        {FusedOp::accumulate, 1.0, "v:bjai", ""},
        {FusedOp::accumulate, -1.0, "z:ajbi", ""},
        {FusedOp::accumulate, -1.0, "w:biaj", ""}}},
      {"x / denominators", "aibj", {{FusedOp::copy, 1.0, "x:aibj", ""}, {FusedOp::divide, 0.0, "", ""}}},
      {"x[iajb] / denominators", "aibj", {{FusedOp::copy, 1.0, "x:iajb", ""}, {FusedOp::divide, 0.0, "", ""}}},
      {"triples, three orders",
       "aibjck",
       {{FusedOp::copy, 1.0, "x:aibjck", ""},
        {FusedOp::accumulate, 1.0, "y:ajbkci", ""},
        {FusedOp::accumulate, 1.0, "z:akbicj", ""}}},
      {"triples, longer virtual",
       "aibjck",
       {{FusedOp::copy, 1.0, "x:ajbick", ""},
        {FusedOp::accumulate, 1.0, "y:akbjci", ""},
        {FusedOp::accumulate, 1.0, "z:aibkcj", ""}},
       4},
      {"triples / denominators", "aibjck", {{FusedOp::copy, 1.0, "x:aibjck", ""}, {FusedOp::divide, 0.0, "", ""}}},
  };
  return list;
}

FusedProblem::FusedProblem(const FusedCase& chain, std::int64_t bytes) {
  const int rank = static_cast<int>(chain.target.size());
  const std::string virtuals = "abc";
  double occupied = static_cast<double>(bytes) / 8.0;
  const auto is_virtual = [&](char index) { return virtuals.find(index) != std::string::npos; };
  for (const char index : chain.target)
    occupied /= is_virtual(index) ? static_cast<double>(chain.virtual_per_occupied) : 1.0;
  extent_ = std::max<std::int64_t>(2, std::llround(std::pow(occupied, 1.0 / rank)));
  elements_ = 1;
  target_.rank = rank;
  std::int64_t& stride = elements_;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t extent = is_virtual(chain.target[d]) ? chain.virtual_per_occupied * extent_ : extent_;
    target_.label[d] = chain.target[d];
    target_.extent[d] = extent;
    target_.stride[d] = stride;
    stride *= extent;
    energies_.energy[d].resize(static_cast<std::size_t>(extent));
    for (std::int64_t p = 0; p < extent; ++p)
      energies_.energy[d][static_cast<std::size_t>(p)] = (d % 2 ? -1.0 : 1.0) + 0.01 * static_cast<double>(p);
  }
  energies_.rank = rank;
  target_.data = fresh();
  for (const FusedStatement& s : chain.statements) {
    FusedStep step{s.op, s.value, {}, {}, s.op == FusedOp::divide ? &energies_ : nullptr};
    source(s.a, step.a);
    source(s.b, step.b);
    steps_.push_back(step);
  }
  const FusedOp first = chain.statements.front().op;
  const bool updates = first == FusedOp::scale || first == FusedOp::accumulate || first == FusedOp::add_scalar ||
                       first == FusedOp::divide;
  streams_ = static_cast<double>(blocks_.size()) + 1.0 + (updates ? 1.0 : 0.0);
}

/// A block as it lies in a rank's memory: one behind the other, each behind a header of a cache line.
double* FusedProblem::fresh() {
  constexpr std::size_t max_blocks = 6, line = 64, page = 4096;
  const std::size_t chunk = line + (static_cast<std::size_t>(elements_) * 8 + line - 1) / line * line;
  if (!arena_)
    arena_.reset(static_cast<std::byte*>(std::aligned_alloc(page, (max_blocks * chunk + page - 1) / page * page)));
  if (!arena_ || taken_ == max_blocks) std::abort();
  auto* block = reinterpret_cast<double*>(arena_.get() + chunk * taken_++ + line);
  for (std::int64_t i = 0; i < elements_; ++i) block[i] = 1.0 + 1e-3 * static_cast<double>(i % 1000);
  return block;
}

void FusedProblem::source(const std::string& text, FusedSource& to) {
  if (text.empty()) return;
  auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) { return b.first == text[0]; });
  if (found == blocks_.end()) found = blocks_.insert(blocks_.end(), {text[0], fresh()});
  ConstView view;
  view.rank = target_.rank;
  view.data = found->second;
  std::int64_t stride = 1;
  for (int d = 0; d < view.rank; ++d) {
    view.label[d] = text[static_cast<std::size_t>(d) + 2];
    const auto same =
        std::find(target_.label.begin(), target_.label.begin() + view.rank, view.label[d]) - target_.label.begin();
    view.extent[d] = target_.extent[static_cast<std::size_t>(same)];
    view.stride[d] = stride;
    stride *= view.extent[d];
  }
  if (!fused_source(target_, view, to)) std::abort();
}

}  // namespace bench
