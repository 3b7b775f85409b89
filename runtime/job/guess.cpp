// What a job takes from the results of earlier ones: orbitals that SCF programs begin with, and whether what it
// restores is there.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/job/job_file.h"
#include "runtime/job/results.h"

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
  const Molecule& m = job.data.molecule;
  const std::int64_t n = m.n_basis();
  const auto fits = [&](const DataArray* c) {
    return c->extents == std::vector<std::int64_t>{n, n} &&
           std::ranges::all_of(c->data, [](double x) { return std::isfinite(x); });
  };
  std::string why =
      job.data.has_molecule && !job.legacy ? reader.functions_difference_of(m) : "this job has no [molecule]";
  if (why.empty() && !alpha) why = "no program saved any";
  if (why.empty() && (!fits(alpha) || !fits(beta)))
    why = fmt::format("they are no matrices of numbers over {} functions", n);
  if (why.empty()) set_guess(job, *alpha, *beta);
  else job.warnings.push_back(fmt::format("the orbitals in `{}` are no first guess for this job: {}", path, why));
}

void check_restored_files(const Job& job) {
  for (const std::string& file : job.restore_files)
    if (std::error_code ignored; !std::filesystem::exists(file, ignored))
      throw InputError(fmt::format("there is no results file `{}`", file), {}, job.restore_place);
}

}  // namespace sial
