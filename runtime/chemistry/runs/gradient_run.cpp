#include "runtime/program/session/gradient_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/gradient/displacements.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/hdf5_file.h"
#include "runtime/core/job/results.h"
#include "runtime/core/model/earlier_results.h"

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

bool is_energy(const Job& job) { return job.gradient_scalar.find("energy") != std::string::npos; }

/// Why the scalar may depend on how the molecule lies in space; empty: no reason is known.
std::string directed(const Job& job) {
  if (!is_energy(job)) return fmt::format("`{}` is not called an energy", job.gradient_scalar);
  if (!job.input_arrays.empty()) return fmt::format("the job gives the array `{}`", *job.input_arrays.begin());
  if (!job.plugins.empty()) return "the job has plugins";
  for (const std::string& name : job.stated_values)
    if (!scalar_settings.contains(name)) return fmt::format("the job gives a value for `{}`", name);
  return {};
}

/// Why equivalent atoms may not be so for the state; likewise.
std::string unsymmetric(const Job& job) {
  if (!chemistry(job.data).fragments.atoms.empty()) return "the molecule has fragments";
  if (chemistry(job.data).molecule.multiplicity != 1)
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
  const std::vector<int> kinds = atom_kinds(chemistry(job.data).molecule);
  choice.operations = point_operations(points, kinds, symmetry_tolerance);
  const bool is_on = job.gradient_symmetry == "on";
  std::string why = job.gradient_symmetry == "off" ? "--gradient-symmetry off" : is_on ? "" : directed(job);
  choice.rigid = why.empty();
  if (why.empty() && !is_on) why = unsymmetric(job);
  if (is_on && !chemistry(job.data).fragments.atoms.empty()) why = unsymmetric(job);
  if (!why.empty()) choice.operations.resize(1);
  choice.text = why.empty() ? fmt::format("{} symmetry operations", choice.operations.size())
                            : fmt::format("symmetry is not used ({})", why);
  return choice;
}

std::vector<Vector3> points_of(const Job& job) {
  std::vector<Vector3> points;
  for (const Atom& atom : chemistry(job.data).molecule.atoms) points.push_back(atom.position);
  return points;
}

/// Whether one more derivative has to show that the state has the symmetry of the nuclei.
bool is_assumed(const Job& job, const Choice& choice) {
  return job.gradient_symmetry == "auto" && choice.operations.size() > 1 &&
         chemistry(job.data).molecule.atoms.size() > 1;
}

std::string plan_line(const Job& job, std::size_t displaced, const Choice& choice) {
  return fmt::format("gradient of {} by central differences of {} bohr: {} displaced jobs; {}{}", job.gradient_scalar,
                     job.gradient_step, displaced, choice.text,
                     choice.rigid ? "; translation and rotation of the whole molecule are used" : "");
}

std::string units_of(const Job& job) { return is_energy(job) ? "hartree/bohr" : "1/bohr, times the scalar's own unit"; }

/// An integer where it was given as one.
double convergence_of(const Job& job, const std::string& name) {
  const auto found = job.data.scalars.find(name);
  return found == job.data.scalars.end() ? job.data.ints.at(name) : found->second;
}

/// Errors of energies are divided by the step.
double loosest_convergence(const Job& job) { return 1e-7 * job.gradient_step; }

void warn_of_convergence(const Job& job) {
  const double wanted = loosest_convergence(job);
  for (const char* name : {"scf_conv", "cc_conv"})
    if (const double given = convergence_of(job, name); given > wanted)
      std::cerr
          << fmt::format(
                 "warning: {} = {:g} is loose for displacements of {} bohr: derivatives may be wrong by {:.0e} hartree/bohr or more\n  hint: at most {:g}, or leave it out\n",
                 name, given, job.gradient_step, given, wanted)
          << std::flush;
}

/// Collective: drops what has no place twice, here and in the store, beside what a job needs.
void drop_large_arrays(Session& session, JobOutcome& outcome) {
  double bytes = 0.0;
  for (const auto& [label, array] : outcome.saved_blocks) {
    double elements = 1.0;
    for (const auto& extents : array->layout.extents)
      elements *= static_cast<double>(std::reduce(extents.begin(), extents.end()));
    bytes += elements * sizeof(double);
  }
  if (!outcome.saved_blocks.empty() && !session.has_memory_for(static_cast<std::int64_t>(std::min(2.0 * bytes, 1e18))))
    outcome.saved_blocks.clear();
}

double scalar_of(const JobOutcome& outcome, const std::string& name) {
  const auto found = outcome.scalars.find(name);
  if (found == outcome.scalars.end())
    throw SialError(fmt::format("the programs left no scalar `{}`, of which a gradient is wanted", name));
  if (!std::isfinite(found->second))
    throw SialError(fmt::format("`{}` is {}, and has no gradient", name, found->second));
  return found->second;
}

/// A vector per atom, in bohr.
using Field = std::vector<Vector3>;

/// Whether amplitudes of the undisplaced job may be the first guess. Both displaced jobs begin with the same ones, from
/// opposite sides: what convergence leaves of that does not cancel, as it does where they begin with perturbation
/// theory.
bool guesses_amplitudes(const Job& job) { return convergence_of(job, "cc_conv") <= loosest_convergence(job); }

/// Amplitudes of coupled cluster, for displaced jobs that have the segments of the undisplaced one.
void take_amplitudes(Job& displaced, const JobOutcome& start, const NamedSegments& segments) {
  const auto doubles = start.saved_blocks.find("t2");
  const auto singles = start.saved_statics.find("t1");
  const auto energy = start.scalars.find("ccsd_energy");
  if (doubles == start.saved_blocks.end() || singles == start.saved_statics.end() || energy == start.scalars.end() ||
      !displaced.saved_before.contains("guess_a") || named_segments(displaced.data) != segments)
    return;
  displaced.saved_before["guess_t1"] = singles->second;
  displaced.saved_blocks_before["guess_t2"] = doubles->second;
  displaced.data.scalars["guess_energy"] = energy->second;
  displaced.stated_values.insert("guess_energy");
  derive_job_data(displaced);
}

/// The molecule of the displaced job, which writes no files and starts from these orbitals.
Job displaced_job(const Job& job, const JobOutcome& start, const NamedSegments& segments, const Field& field,
                  double by) {
  Job displaced = job;
  for (std::size_t a = 0; a < field.size(); ++a)
    for (int i = 0; i < 3; ++i) chemistry(displaced.data).molecule.atoms[a].position[i] += by * field[a][i];
  displaced.data.arrays.erase("coords");
  displaced.warnings.clear();
  displaced.results_path = displaced.run_json_path = displaced.molden_path = displaced.fcidump_path =
      displaced.trexio_path = "none";
  displaced.saved_arrays.clear();
  const auto take = [&](std::initializer_list<const char*> labels, const char* to) {
    for (const char* label : labels)
      if (const auto found = start.saved_statics.find(label); found != start.saved_statics.end()) {
        displaced.saved_before[to] = found->second;
        return;
      }
  };
  take({"ca", "c"}, "guess_a");
  take({"cb", "c"}, "guess_b");
  derive_job_data(displaced);
  for (const std::string& option : domain().earlier_segments(displaced, segments)) apply_segments(displaced, option);
  take_amplitudes(displaced, start, segments);
  return displaced;
}

std::string place_of(const Job& job, const Derivative& derivative) {
  return fmt::format("atom {} ({}), direction {}", derivative.atom + 1,
                     chemistry(job.data).molecule.atoms[derivative.atom].symbol, direction_text(derivative.direction));
}

/// The error with the place of the displaced job, of the kind that has its exit code.
[[noreturn]] void fail_displaced(const std::string& place, const SialError& error) {
  const std::string text = fmt::format("the displaced job ({}) failed: {}", place, error.what());
  switch (exit_code_of(error)) {
    case exit_input_error: throw InputError(text, error.hint(), error.where());
    case exit_environment_error: throw EnvironmentError(text, error.hint(), error.where());
    default: throw SialError(text, error.hint(), error.where());
  }
}

/// The scalar of one displaced job. What that printed is shown where it fails.
double displaced_value(Session& session, int rank, const Job& job, const std::string& place, JobOutcome& outcome) {
  outcome = {};
  int code = exit_ok;
  {
    std::optional<Quiet> quiet;
    quiet.emplace(rank == 0);
    const auto show = [&] {
      const std::string printed = quiet->tail();
      quiet.reset();
      if (!printed.empty()) std::cerr << "the last that the displaced job printed:\n" << printed << std::endl;
    };
    try {
      code = session.run(job);
      if (code != exit_ok) show();
    } catch (const SialError& error) {
      show();
      fail_displaced(place, error);
    }
  }
  if (code != exit_ok || !outcome.is_set)
    throw SialError(fmt::format("the displaced job ({}) failed with exit code {}", place, code));
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
  file.set_attribute(name, "units", units_of(job));
  file.set_real_attribute(name, "step", gradient.step);
  file.set_real_attribute(name, "value", gradient.value);
  file.set_attribute(name, "displacements", static_cast<std::int64_t>(gradient.displaced));
  file.set_attribute(name, "symmetry_operations", static_cast<std::int64_t>(gradient.operations));
  file.close();
  part.finish(Durability::on_disk);
}

void print_table(const Job& job, const Gradient& gradient) {
  std::cout << fmt::format("\ngradient of {}, {}\n{:>5} {:<3} {:>17} {:>17} {:>17}\n", job.gradient_scalar,
                           units_of(job), "atom", "", "x", "y", "z");
  for (std::size_t a = 0; a < gradient.values.size(); ++a) {
    const Vector3& g = gradient.values[a];
    std::cout << fmt::format("{:>5} {:<3} {:17.10f} {:17.10f} {:17.10f}\n", a + 1,
                             chemistry(job.data).molecule.atoms[a].symbol, g[0] + 0.0, g[1] + 0.0, g[2] + 0.0);
  }
  std::cout << fmt::format("{} displaced jobs; {} more follow from these\n", gradient.displaced, gradient.left_out)
            << std::flush;
}

/// Runs displaced jobs, and says so.
class Measurement {
 public:
  Measurement(Session& session, int rank, const Job& job, JobOutcome& outcome, Gradient& gradient)
      : session_(session),
        rank_(rank),
        job_(job),
        outcome_(outcome),
        gradient_(gradient),
        segments_(session.segments()) {}

  /// The whole gradient.
  void all(std::span<const Vector3> points, const Choice& choice) {
    const DisplacementPlan plan(points, choice.operations, choice.rigid);
    gradient_.operations = choice.operations.size();
    say("\n" + plan_line(job_, 2 * plan.derivatives().size(), choice));
    const JobOutcome& start = gradient_.undisplaced;
    say(fmt::format(
        "convergence: scf_conv = {:g}, cc_conv = {:g}{}", convergence_of(job_, "scf_conv"),
        convergence_of(job_, "cc_conv"),
        start.saved_blocks.contains("t2") ? "; amplitudes of the undisplaced job are the first guess" : ""));
    std::vector<double> values;
    for (const Derivative& derivative : plan.derivatives()) {
      Field field(points.size());
      field[derivative.atom] = derivative.direction;
      values.push_back(derivative_along(field, place_of(job_, derivative)));
    }
    gradient_.values = plan.gradient(values);
  }

  /// Whether the gradient is right along a direction without symmetry, of all nuclei at once: it is not where the
  /// state has less symmetry than the nuclei.
  bool agrees_elsewhere() {
    Field field(gradient_.values.size());
    double norm = 0.0, expected = 0.0, phase = 1.0;
    for (Vector3& v : field)
      for (double& x : v) {
        x = std::sin(phase);
        phase += 2.4;
        norm += x * x;
      }
    for (std::size_t a = 0; a < field.size(); ++a)
      for (int i = 0; i < 3; ++i) {
        field[a][i] /= std::sqrt(norm);
        expected += field[a][i] * gradient_.values[a][i];
      }
    const double found = derivative_along(field, "all nuclei, to check the symmetry of the state");
    const double steps = gradient_.step / 0.001,
                 convergence = std::max(convergence_of(job_, "scf_conv"), convergence_of(job_, "cc_conv"));
    const double allowed = 1e-5 * std::max(1.0, steps * steps) + convergence / gradient_.step;
    if (std::abs(found - expected) <= allowed) return true;
    if (rank_ == 0)
      std::cerr
          << fmt::format(
                 "warning: the state has less symmetry than the nuclei: a derivative is {:.8f}, and {:.8f} by symmetry\n  hint: all displacements are calculated; `--gradient-symmetry off` does so at once\n",
                 found, expected)
          << std::flush;
    return false;
  }

 private:
  void say(const std::string& text) const {
    if (rank_ == 0) std::cout << text << std::endl;
  }

  double derivative_along(const Field& field, const std::string& what) {
    double values[2];
    for (const int side : {0, 1}) {
      const double by = side == 0 ? gradient_.step : -gradient_.step;
      const std::string place = fmt::format("{}, {:+g} bohr", what, by);
      const Job displaced = displaced_job(job_, gradient_.undisplaced, segments_, field, by);
      values[side] = displaced_value(session_, rank_, displaced, place, outcome_);
      say(fmt::format("displacement {}: {}: {:.12f}", ++gradient_.displaced, place, values[side]));
    }
    return (values[0] - values[1]) / (2.0 * gradient_.step);
  }

  Session& session_;
  int rank_;
  const Job& job_;
  JobOutcome& outcome_;
  Gradient& gradient_;
  NamedSegments segments_;  // of the undisplaced job
};

}  // namespace

void check_gradient(const Job& job) {
  if (!chemistry(job.data).has_molecule || job.legacy)
    throw InputError("a gradient is wanted, and the job has no [molecule]",
                     "the atoms that are displaced are those of [molecule] in a job file", job.file);
  for (const char* name : {"coords", "charge", "nn_repulsion"})
    if (job.data.sources.contains(name) || job.input_arrays.contains(name) || job.stated_values.contains(name))
      throw InputError(fmt::format("a gradient is wanted, and the job gives `{}`, which displacements change", name),
                       "leave it to the molecule", job.file);
}

std::string gradient_plan(const Job& job) {
  check_gradient(job);
  const std::vector<Vector3> points = points_of(job);
  const Choice choice = choose(job, points);
  const DisplacementPlan plan(points, choice.operations, choice.rigid);
  const std::size_t displaced = 2 * plan.derivatives().size();
  std::string text = plan_line(job, displaced, choice) + "\n";
  if (is_assumed(job, choice))
    text += fmt::format(
        "2 more displaced jobs check the symmetry of the state; without it there are {}\n",
        2 * DisplacementPlan(points, std::span(choice.operations).first(1), choice.rigid).derivatives().size());
  return text + fmt::format("the job runs {} times, one after the other, each in the memory and time above\n",
                            1 + displaced + (is_assumed(job, choice) ? 2 : 0));
}

int run_gradient(Session& session, int rank, const Job& job, JobOutcome& outcome, Gradient& gradient) {
  check_gradient(job);
  gradient.step = job.gradient_step;
  const std::vector<Vector3> points = points_of(job);
  Choice choice = choose(job, points);
  outcome = {};
  if (guesses_amplitudes(job)) outcome.wanted_blocks = {"t2"};
  if (const int code = session.run(job); code != exit_ok) return code;
  gradient.undisplaced = std::exchange(outcome, {});
  drop_large_arrays(session, gradient.undisplaced);
  gradient.value = scalar_of(gradient.undisplaced, job.gradient_scalar);
  if (rank == 0) warn_of_convergence(job);
  Measurement measurement(session, rank, job, outcome, gradient);
  measurement.all(points, choice);
  if (is_assumed(job, choice) && !measurement.agrees_elsewhere()) {
    choice.operations.resize(1);
    choice.text = "symmetry is not used (the state does not have it)";
    measurement.all(points, choice);
  }
  gradient.left_out = std::max<std::size_t>(6 * points.size(), gradient.displaced) - gradient.displaced;
  if (rank == 0) {
    print_table(job, gradient);
    if (job.results_path != "none") add_to_results(job, gradient);
  }
  return exit_ok;
}

}  // namespace sial
