#include "runtime/gradient_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/output_file.h"
#include "runtime/base/printable.h"
#include "runtime/gradient/displacements.h"
#include "runtime/job/hdf5_file.h"
#include "runtime/job/names.h"
#include "runtime/job/segments.h"

namespace sial {
namespace {

constexpr double symmetry_tolerance = 1e-6;  // bohr: an error of this size in the gradient, at force constants of 1

/// Values of jobs that cannot tell a direction in space.
const std::set<std::string> scalar_settings = {"scf_conv",  "cc_conv",       "eom_tol",   "damp",
                                               "scf_iter",  "scf_hist",      "scf_beg",   "cc_iter",
                                               "eom_roots", "keep_quartets", "eom_subspc"};

/// Keeps what a displaced job prints for as long as it runs; on rank 0.
class Quiet {
 public:
  explicit Quiet(bool on) {
    if (!on) return;
    out_ = std::cout.rdbuf(text_.rdbuf());
    err_ = std::cerr.rdbuf(text_.rdbuf());
  }
  ~Quiet() {
    if (out_) std::cout.rdbuf(out_);
    if (err_) std::cerr.rdbuf(err_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

  /// The last lines.
  std::string tail() const {
    const std::string text = text_.str();
    std::size_t at = text.size();
    for (int lines = 0; lines < 12 && at > 0; ++lines) {
      at = text.rfind('\n', at - 1);
      if (at == std::string::npos) at = 0;
    }
    return text.substr(at);
  }

 private:
  std::ostringstream text_;
  std::streambuf *out_ = nullptr, *err_ = nullptr;
};

std::string direction_text(const Vector3& d) { return fmt::format("({:.4f}, {:.4f}, {:.4f})", d[0], d[1], d[2]); }

/// Atoms of one kind have a nucleus, a potential and a basis in common.
std::vector<int> atom_kinds(const Molecule& m) {
  std::vector<std::string> texts(m.atoms.size());
  for (std::size_t a = 0; a < m.atoms.size(); ++a)
    texts[a] = fmt::format("{} {} {}", m.atoms[a].symbol, m.atoms[a].charge, m.atoms[a].core_electrons);
  for (const Shell& s : m.shells)
    texts[s.atom] += fmt::format("| {} {} {} {} {}", s.l, s.pure, s.n_contractions, fmt::join(s.exponents, ","),
                                 fmt::join(s.coefficients, ","));
  for (const Ecp& e : m.ecps)
    for (const EcpTerm& t : e.terms)
      texts[e.atom] += fmt::format("| {} {} {} {}", t.l, t.power, t.exponent, t.coefficient);
  std::map<std::string, int> numbers;
  std::vector<int> kinds;
  for (const std::string& text : texts) kinds.push_back(numbers.try_emplace(text, std::ssize(numbers)).first->second);
  return kinds;
}

/// Why the scalar may depend on how the molecule lies in space; empty: no reason is known.
std::string directed(const Job& job) {
  if (job.gradient_scalar.find("energy") == std::string::npos)
    return fmt::format("`{}` is not called an energy", job.gradient_scalar);
  if (!job.given_arrays.empty()) return fmt::format("the job gives the array `{}`", *job.given_arrays.begin());
  if (!job.plugins.empty()) return "the job has plugins";
  for (const std::string& name : job.given_values)
    if (!scalar_settings.contains(name)) return fmt::format("the job gives a value for `{}`", name);
  return {};
}

/// Why equivalent atoms may not be so for the state; likewise.
std::string unsymmetric(const Job& job) {
  if (!job.fragments.atoms.empty()) return "the molecule has fragments";
  if (job.data.molecule.multiplicity != 1)
    return "a state with unpaired electrons may have less symmetry than its atoms";
  return {};
}

/// What leaves displacements out, as the job wants it.
struct Choice {
  std::vector<PointOperation> operations;
  bool rigid = false;
  std::string text;
};

Choice choose(const Job& job, std::span<const Vector3> points) {
  Choice choice;
  const std::vector<int> kinds = atom_kinds(job.data.molecule);
  choice.operations = point_operations(points, kinds, symmetry_tolerance);
  const bool is_on = job.gradient_symmetry == "on";
  std::string why = job.gradient_symmetry == "off" ? "not asked for" : is_on ? "" : directed(job);
  choice.rigid = why.empty();
  if (why.empty() && !is_on) why = unsymmetric(job);
  if (is_on && !job.fragments.atoms.empty()) why = unsymmetric(job);
  if (!why.empty()) choice.operations.resize(1);
  choice.text = why.empty() ? fmt::format("{} symmetry operations", choice.operations.size())
                            : fmt::format("symmetry is not used ({})", why);
  return choice;
}

/// An integer where it was given as one.
double convergence_of(const Job& job, const std::string& name) {
  const auto found = job.data.scalars.find(name);
  return found == job.data.scalars.end() ? job.data.ints.at(name) : found->second;
}

double scalar_of(const JobOutcome& outcome, const std::string& name) {
  const auto found = outcome.scalars.find(name);
  if (found == outcome.scalars.end()) {
    std::vector<std::string_view> known;
    for (const auto& [n, value] : outcome.scalars) known.push_back(n);
    const auto close = close_names(name, known);
    throw InputError(fmt::format("no program of the job has a scalar `{}`, of which a gradient is wanted", name),
                     close.empty() ? fmt::format("scalars are: {}", fmt::join(known, ", "))
                                   : fmt::format("did you mean `{}`?", close.front()));
  }
  if (!std::isfinite(found->second))
    throw SialError(fmt::format("`{}` is {}, and has no gradient", name, found->second));
  return found->second;
}

/// The molecule of the displaced job, which writes no files and starts from these orbitals.
Job displaced_job(const Job& job, const JobOutcome& start, const Derivative& derivative, double by) {
  Job displaced = job;
  for (int i = 0; i < 3; ++i)
    displaced.data.molecule.atoms[derivative.atom].position[i] += by * derivative.direction[i];
  displaced.data.arrays.erase("coords");
  displaced.warnings.clear();
  displaced.results_path = displaced.run_json_path = displaced.molden_path = displaced.trexio_path = "none";
  displaced.saved_arrays.clear();
  const auto take = [&](const char* from, const char* to) {
    const auto found = start.saved_statics.find(from);
    if (found != start.saved_statics.end()) displaced.saved_before[to] = found->second;
    return found != start.saved_statics.end();
  };
  if (!take("c", "guess_a") && take("ca", "guess_a")) take("cb", "guess_b");
  derive_job_data(displaced);
  return displaced;
}

std::string place_of(const Job& job, const Derivative& derivative, double by) {
  return fmt::format("atom {} ({}), direction {}, {:+g} bohr", derivative.atom + 1,
                     job.data.molecule.atoms[derivative.atom].symbol, direction_text(derivative.direction), by);
}

template <class Error>
[[noreturn]] void fail_displaced(const std::string& place, const Error& error, const std::string& printed) {
  throw Error(fmt::format("the displaced job ({}) failed: {}", place, error.what()),
              error.hint() + (printed.empty() ? "" : "\n  the last that it printed:\n" + printed), error.where());
}

double displaced_value(Session& session, int rank, const Job& job, const std::string& place, JobOutcome& outcome) {
  outcome = {};
  int code = exit_ok;
  std::string printed;
  {
    Quiet quiet(rank == 0);
    try {
      code = session.run(job);
    } catch (const InputError& error) {
      fail_displaced(place, error, quiet.tail());
    } catch (const EnvironmentError& error) {
      fail_displaced(place, error, quiet.tail());
    } catch (const SialError& error) { fail_displaced(place, error, quiet.tail()); }
    if (code != exit_ok) printed = quiet.tail();
  }
  if (code != exit_ok || !outcome.is_set)
    throw SialError(fmt::format("the displaced job ({}) failed with exit code {}", place, code),
                    printed.empty() ? "" : "the last that it printed:\n" + printed);
  return scalar_of(outcome, job.gradient_scalar);
}

void add_to_results(const Job& job, const Gradient& gradient) {
  namespace fs = std::filesystem;
  const std::string path = (fs::path(job.output_dir) / job.results_path).string();
  PartFile part(path, "is the disk full, or the folder read-only?");
  std::error_code failure;
  fs::copy_file(path, part.name_to_open(), fs::copy_options::overwrite_existing, failure);
  if (failure) throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, failure.message()));
  Hdf5File file = Hdf5File::extend(part);
  file.make_group("derivatives");
  std::vector<double> values;
  for (const Vector3& row : gradient.values) values.insert(values.end(), row.begin(), row.end());
  const std::string name = "derivatives/gradient";
  file.write(name, std::vector<std::int64_t>{3, std::ssize(gradient.values)}, std::span<const double>(values));
  file.set_attribute(name, "scalar", job.gradient_scalar);
  file.set_attribute(name, "units", std::string("hartree/bohr"));
  file.set_real_attribute(name, "step", gradient.step);
  file.set_real_attribute(name, "value", gradient.value);
  file.set_attribute(name, "displacements", static_cast<std::int64_t>(gradient.displaced));
  file.set_attribute(name, "symmetry_operations", static_cast<std::int64_t>(gradient.operations));
  file.close();
  part.finish(Durability::on_disk);
}

void print_table(const Job& job, const Gradient& gradient) {
  std::cout << fmt::format("\ngradient of {}, hartree/bohr\n{:>5} {:<3} {:>17} {:>17} {:>17}\n", job.gradient_scalar,
                           "atom", "", "x", "y", "z");
  for (std::size_t a = 0; a < gradient.values.size(); ++a) {
    const Vector3& g = gradient.values[a];
    std::cout << fmt::format("{:>5} {:<3} {:17.10f} {:17.10f} {:17.10f}\n", a + 1, job.data.molecule.atoms[a].symbol,
                             g[0] + 0.0, g[1] + 0.0, g[2] + 0.0);
  }
  std::cout << fmt::format("{} displaced jobs; {} were left out, as they follow from these\n", gradient.displaced,
                           gradient.left_out)
            << std::flush;
}

}  // namespace

std::shared_ptr<JobOutcome> keep_outcomes(SessionOptions& options) {
  auto outcome = std::make_shared<JobOutcome>();
  options.take_results = [outcome](const JobRunner& runner, const RankState& state, const StoreSnapshots&) {
    *outcome = {};
    for (const ProgramOutcome& program : runner.outcomes())
      for (const auto& [name, value] : program.scalars) outcome->scalars[name] = value;
    for (const auto& [label, value] : state.saved_scalars) outcome->scalars.try_emplace(label, value);
    outcome->saved_statics = state.saved_statics;
    outcome->is_set = true;
  };
  return outcome;
}

void check_gradient(const Job& job) {
  if (!job.data.has_molecule || job.legacy)
    throw InputError("a gradient is wanted, and the job has no [molecule]",
                     "the atoms that are displaced are those of [molecule] in a job file", job.file);
  for (const char* name : {"coords", "charge", "nn_repulsion"})
    if (job.data.sources.contains(name) || job.given_arrays.contains(name) || job.given_values.contains(name))
      throw InputError(fmt::format("a gradient is wanted, and the job gives `{}`, which displacements change", name),
                       "leave it to the molecule", job.file);
}

int run_gradient(Session& session, int rank, const Job& job, JobOutcome& outcome, Gradient& gradient) {
  check_gradient(job);
  gradient.step = job.gradient_step;
  std::vector<Vector3> points;
  for (const Atom& atom : job.data.molecule.atoms) points.push_back(atom.position);
  const Choice choice = choose(job, points);
  const DisplacementPlan plan(points, choice.operations, choice.rigid);
  gradient.operations = choice.operations.size();
  gradient.displaced = 2 * plan.derivatives().size();
  gradient.left_out = 6 * points.size() - gradient.displaced;
  outcome = {};
  if (const int code = session.run(job); code != exit_ok) return code;
  gradient.undisplaced = outcome;
  gradient.value = scalar_of(outcome, job.gradient_scalar);
  const auto say = [&](const std::string& text) {
    if (rank == 0) std::cout << text << std::endl;
  };
  say(fmt::format("\ngradient of {} by central differences of {} bohr: {} displaced jobs; {}{}", job.gradient_scalar,
                  gradient.step, gradient.displaced, choice.text,
                  choice.rigid ? "; moving and turning the whole molecule changes nothing" : ""));
  say(fmt::format("convergence: scf_conv = {:g}, cc_conv = {:g}", convergence_of(job, "scf_conv"),
                  convergence_of(job, "cc_conv")));
  std::vector<double> values;
  std::size_t number = 0;
  for (const Derivative& derivative : plan.derivatives()) {
    double energies[2];
    for (const int side : {0, 1}) {
      const double by = side == 0 ? gradient.step : -gradient.step;
      const std::string place = place_of(job, derivative, by);
      const Job displaced = displaced_job(job, gradient.undisplaced, derivative, by);
      energies[side] = displaced_value(session, rank, displaced, place, outcome);
      say(fmt::format("displacement {} of {}: {}: {:.12f}", ++number, gradient.displaced, place, energies[side]));
    }
    values.push_back((energies[0] - energies[1]) / (2.0 * gradient.step));
  }
  gradient.values = plan.gradient(values);
  if (rank == 0) {
    print_table(job, gradient);
    if (job.results_path != "none") add_to_results(job, gradient);
  }
  return exit_ok;
}

}  // namespace sial
