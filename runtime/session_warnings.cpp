// Warnings of a session about what a job states and no program uses.

#include <bit>
#include <cstring>
#include <ostream>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/printable.h"
#include "runtime/interp/job/saved_values.h"
#include "runtime/job/names.h"
#include "runtime/session.h"

namespace sial {

/// What the job gives by a name that no program has. Super instructions and plugins read values and integer arrays by
/// names of their own: those must look like a slip. Real arrays are read by programs, and by plugins.
void Session::warn_of_values(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs) {
  if (job.legacy) return;
  std::set<std::string> predefined, arrays{"scalar_array_data"};  // which a test helper reads
  for (const auto& program : programs) {
    for (const IntVar& v : program->ints)
      if (v.predefined) predefined.insert(v.name);
    for (const ScalarVar& v : program->scalars)
      if (v.predefined) predefined.insert(v.name);
    for (const auto& a : program->arrays)
      if (a.predefined) arrays.insert(a.name);
  }
  const auto warn = [&](const char* what, const char* kind, const std::string& name, const std::set<std::string>& names,
                        bool certain) {
    if (names.contains(name)) return;
    const std::vector<std::string_view> known(names.begin(), names.end());
    const auto close = close_names(name, known);
    if (close.empty() && !certain) return;
    const std::string hint =
        close.empty()
            ? fmt::format(
                  "declare it in a program, `predefined static {}[...]` or `distributed`, or leave it out of the job",
                  name)
            : fmt::format("did you mean `{}`?", close.front());
    err_ << printable(fmt::format(
                "warning: the job gives {} `{}`, and no program has a predefined {} of this name\n  hint: {}\n", what,
                name, kind, hint))
         << std::flush;
  };
  for (const std::string& name : job.given_values) warn("a value for", "int or scalar", name, predefined, false);
  warn_of_ranges(job, programs);
  const bool plugins = options_.machine.plugins && !options_.machine.plugins->names().empty();
  for (const auto& [name, array] : job.data.arrays) {
    const bool of_molecule = job.data.has_molecule && (name == "coords" || name == "charge");
    const bool of_hamiltonian = job.data.hamiltonian && name.starts_with("given_");
    if (!of_molecule && !of_hamiltonian && !job.given_arrays.contains(name))
      warn("the array", "array", name, arrays, !plugins && !job.data.int_arrays.contains(name));
  }
  warn_of_arrays(job, programs);
  warn_of_placed_arrays(job, programs);
}

void Session::warn_of_placed_arrays(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs) {
  std::set<std::string_view> remote;
  for (const auto& program : programs)
    for (const ArrayRow& a : program->arrays)
      if (is_remote(a.kind)) remote.insert(a.name);
  const std::vector<std::string_view> known(remote.begin(), remote.end());
  for (const auto& [name, rule] : job.numa.arrays) {
    if (remote.contains(name)) continue;
    const auto close = close_names(name, known);
    err_
        << fmt::format(
               "warning: `--numa` has a rule for `{}`, and no program has a distributed or served array of this name\n  hint: {}\n",
               name,
               close.empty() ? "rules are for arrays whose blocks all ranks use"
                             : fmt::format("did you mean `{}`?", close.front()))
        << std::flush;
  }
}

/// `norb` with which a program leaves out the last AO segments, all of which the user gave.
void Session::warn_of_ranges(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs) {
  const auto ao = job.data.segments.find(IndexKind::ao);
  const auto norb = job.data.ints.find("norb");
  if (!job.given_values.contains("norb") || ao == job.data.segments.end() || norb == job.data.ints.end() ||
      norb->second < 1 || norb->second >= std::ssize(ao->second))
    return;
  for (const auto& program : programs)
    for (const IntVar& v : program->ints)
      if (v.predefined && v.name == "norb") {
        err_
            << fmt::format(
                   "warning: `norb` is {}, and the job has {} segments of kind ao: the last {} left out\n  hint: set norb={}, or leave it to the job\n",
                   norb->second, ao->second.size(), std::ssize(ao->second) - norb->second == 1 ? "one is" : "ones are",
                   ao->second.size())
            << std::flush;
        return;
      }
}

/// Likewise an array. Where no program has super instructions, which may read others, none but the predefined ones are
/// of use.
void Session::warn_of_arrays(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs) {
  std::set<std::string> predefined;
  std::string lacking;
  bool executes = false;
  for (const auto& program : programs) {
    executes |= !program->specials.empty();
    for (const ArrayRow& a : program->arrays)
      if (a.predefined && predefined.insert(a.name).second && !job.data.gives_array(a.name))
        lacking += (lacking.empty() ? "`" : ", `") + a.name + "`";
  }
  const std::vector<std::string_view> known(predefined.begin(), predefined.end());
  for (const std::string& name : job.given_arrays) {
    if (predefined.contains(name)) continue;
    std::string hint;
    if (const auto close = close_names(name, known); !close.empty())
      hint = fmt::format("did you mean `{}`?", close.front());
    else if (!lacking.empty()) hint = fmt::format("predefined arrays of the programs without data: {}", lacking);
    else if (executes) continue;
    else hint = "remove it from `[arrays]`, or declare it in a program: `predefined static`, `distributed` or `served`";
    err_
        << fmt::format(
               "warning: the job gives the array `{}`, and no program has a predefined array of this name\n  hint: {}\n",
               name, hint)
        << std::flush;
  }
}

void Session::warn_different_statics() {
  std::vector<std::uint64_t> mine;
  for (const auto& [label, array] : state_->saved_statics) mine.push_back(hash_of(array));
  const auto all = transport_.all_gather(std::as_bytes(std::span(mine)), tag(CollectiveKind::gather));
  if (transport_.rank() != 0) return;
  std::size_t i = 0;
  for (const auto& [label, array] : state_->saved_statics) {
    for (const std::vector<std::byte>& theirs : all) {
      std::uint64_t hash = 0;
      if (theirs.size() >= (i + 1) * sizeof hash) std::memcpy(&hash, &theirs[i * sizeof hash], sizeof hash);
      if (hash != mine[i]) {
        err_ << printable_name(fmt::format(
                    "warning: the saved static array \"{}\" differs between ranks; the results file takes rank 0's",
                    label))
             << std::endl;
        break;
      }
    }
    ++i;
  }
}

}  // namespace sial
