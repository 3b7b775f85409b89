// Whether arrays that a job gives have the job's order and norms of basis functions.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/chemistry/domain/chemistry_domain.h"
#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {
namespace {

/// A matrix over basis functions, scaled to a diagonal of ones; empty where it can be no overlap.
std::vector<double> scaled_overlap(const std::vector<double>& overlap, std::size_t n) {
  std::vector<double> scaled(n * n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      const double norms = overlap[i * n + i] * overlap[j * n + j], x = overlap[j * n + i];
      if (!(overlap[i * n + i] > 0.0) || !(std::abs(x - overlap[i * n + j]) < 1e-8) || x * x > 1.0001 * norms)
        return {};
      scaled[j * n + i] = x / std::sqrt(norms);
    }
  return scaled;
}

}  // namespace

/// Arrays of other programs have basis functions in another order, or with other norms, which nothing shows but where
/// their overlap is among them.
std::vector<Domain::Remark> ChemistryDomain::remarks_on_arrays(const Job& job) const {
  std::vector<Remark> remarks;
  const Molecule& m = chemistry(job.data).molecule;
  if (!chemistry(job.data).has_molecule || job.legacy) return remarks;
  const std::int64_t functions = m.n_basis();
  const auto n = static_cast<std::size_t>(functions);
  std::vector<double> own;
  std::vector<std::size_t> other;  // our functions in the order m = -l .. l
  for (const std::string& name : job.input_arrays) {
    const auto found = job.data.arrays.find(name);
    if (found == job.data.arrays.end() || found->second.extents != std::vector<std::int64_t>{functions, functions} ||
        found->second.data.size() != n * n)
      continue;
    const std::vector<double>& overlap = found->second.data;
    const std::vector<double> scaled = scaled_overlap(overlap, n);
    if (scaled.empty()) continue;
    if (own.empty()) {
      own.resize(n * n);
      make_ao_integrals(m, integral_code(job.data))->overlap({0, functions}, {0, functions}, own.data());
      for (const Shell& s : m.shells)
        for (std::int32_t c = 0; c < s.n_contractions; ++c) {
          const auto size = static_cast<std::size_t>(s.n_functions() / s.n_contractions), first = other.size();
          for (std::size_t f = 0; f < size; ++f) other.push_back(first + (s.pure && s.l > 1 ? size - 1 - f : f));
        }
    }
    double same = 0, transposed = 0, norms = 0;
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) {
        same = std::max(same, std::abs(scaled[j * n + i] - own[j * n + i]));
        transposed = std::max(transposed, std::abs(scaled[j * n + i] - own[other[j] * n + other[i]]));
        if (i == j) norms = std::max(norms, std::abs(overlap[i * n + i] - 1.0));
      }
    constexpr double equal = 1e-5;
    const bool is_named = name == "s" || name == "ovl" || name == "overlap" || name == "smat";
    std::string what;
    if (same < equal && norms > equal)
      what = "is the overlap of the job's basis functions with other norms, and programs take functions of norm 1";
    else if (same > equal && transposed < equal)
      what =
          "is the overlap of the job's basis functions in another order, that of m = -l .. l within a shell, and programs take m = +l .. -l";
    else if (same > equal && norms < equal && is_named)
      what = fmt::format("differs by up to {:.2g} from the overlap of the job's basis functions", same);
    if (!what.empty())
      remarks.push_back(
          {fmt::format("the array `{}` {}", name, what),
           "bring all arrays over basis functions into the order and norms of the job; `sialx.ao_order` of the Python package says how those of PySCF go"});
  }
  return remarks;
}

}  // namespace sial
