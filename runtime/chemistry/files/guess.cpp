#include "runtime/chemistry/files/guess.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/chemistry/files/molecule_in_results.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/results.h"

namespace sial {

void set_guess(Job& job, const DataArray& alpha, const DataArray& beta) {
  job.saved_before["guess_a"] = alpha;
  job.saved_before["guess_b"] = beta;
}

void take_guess(Job& job) {
  if (job.guess_path == "none") return;
  const std::string& path = job.guess_path;
  ResultsReader reader(path);
  const auto saved = reader.saved_statics();
  const auto found = [&](const char* label) {
    const auto at = saved.find(label);
    return at == saved.end() ? nullptr : &at->second;
  };
  const DataArray *alpha = found("ca"), *beta = found("cb");
  if (!alpha || !beta) alpha = beta = found("c");
  const Molecule& m = chemistry(job.data).molecule;
  const std::int64_t n = m.n_basis();
  const auto fits = [&](const DataArray* c) {
    return c->extents == std::vector<std::int64_t>{n, n} &&
           std::ranges::all_of(c->data, [](double x) { return std::isfinite(x); });
  };
  std::string why = chemistry(job.data).has_molecule && !job.legacy ? functions_difference(reader.file(), m)
                                                                    : "this job has no [molecule]";
  if (why.empty() && !alpha) why = "no program saved any";
  if (why.empty() && (!fits(alpha) || !fits(beta)))
    why = fmt::format("they are no matrices of numbers over {} functions", n);
  if (why.empty()) set_guess(job, *alpha, *beta);
  else job.warnings.push_back(fmt::format("the orbitals in `{}` are no first guess for this job: {}", path, why));
}

}  // namespace sial
