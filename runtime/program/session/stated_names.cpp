#include "runtime/program/session/stated_names.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "runtime/core/base/names.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/domain.h"

namespace sial {

static void warn(std::ostream& err, const std::string& text, const std::string& hint) {
  err << printable(fmt::format("warning: {}\n  hint: {}\n", text, hint)) << std::flush;
}

/// What may be meant by a name: where else the key belongs, a name like it or which it begins with, else what there is.
static std::string hint_of_value(const std::string& name, const std::set<std::string, std::less<>>& asked) {
  if (std::string place = place_of_key(name, domain().sections()); !place.empty()) return place;
  const UsualValues& usual = domain().usual_values();
  for (const auto* names : {&asked, &usual.settings}) {
    if (std::string close = did_you_mean(name, *names); !close.empty()) return close;
    for (const std::string& k : *names)
      if (k.size() > 3 && name.starts_with(k)) return fmt::format("did you mean `{}`?", k);
  }
  std::string list;
  for (const std::string& k : asked)
    if (!usual.of_system.contains(k) || usual.settings.contains(k))
      list += (list.empty() ? "the programs ask for: " : ", ") + k;
  return list.empty() ? "the programs ask for no other values than those that the job sets: leave it out"
                      : list + "; leave others out";
}

/// A misspelt name would be noticed when the programs have run.
void check_gradient_scalar(const Job& job, std::span<const std::shared_ptr<const Module>> programs) {
  if (job.gradient_scalar.empty()) return;
  std::vector<std::string_view> known;
  for (const auto& program : programs)
    for (const ScalarVar& scalar : program->scalars) known.push_back(scalar.name);
  if (std::ranges::find(known, job.gradient_scalar) != known.end()) return;
  throw InputError(
      fmt::format("no program of the job has a scalar `{}`, of which a gradient is wanted", job.gradient_scalar),
      did_you_mean(job.gradient_scalar, known, "name a scalar of the programs, for example total_energy or scf_energy"),
      job.file);
}

void check_values(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const Plugins* loaded,
                  std::ostream& err) {
  const bool plugins = !job.plugins.empty() || (loaded && !loaded->names().empty());
  std::set<std::string, std::less<>> asked;
  for (const auto& program : programs) {
    for (const IntVar& v : program->ints)
      if (v.predefined) asked.insert(v.name);
    for (const ScalarVar& v : program->scalars)
      if (v.predefined) asked.insert(v.name);
  }
  const UsualValues& usual = domain().usual_values();
  for (const std::string& name : job.stated_values) {
    if (asked.contains(name) || usual.settings.contains(name) || usual.of_system.contains(name) ||
        domain().is_in_data_file(job, name))
      continue;
    if (plugins && close_names(name, asked).empty()) continue;  // which read values by names of their own
    const std::string text =
        fmt::format("the job gives a value for `{}`, and no program has a predefined int or scalar of this name", name);
    const auto place = job.value_places.find(name);
    // A value for all jobs of a batch need not be one for each of them.
    if (!plugins && (place != job.value_places.end() || job.batch_file.empty()))
      throw InputError(text, hint_of_value(name, asked),
                       place != job.value_places.end() ? place->second : fmt::format("--set {}", name));
    warn(err, text, hint_of_value(name, asked));
  }
}

static void warn_of_placed_arrays(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                                  std::ostream& err) {
  std::set<std::string_view> remote;
  for (const auto& program : programs)
    for (const ArrayRow& a : program->arrays)
      if (is_remote(a.kind)) remote.insert(a.name);
  for (const auto& [name, rule] : job.numa.arrays)
    if (!remote.contains(name))
      warn(err,
           fmt::format("`--numa` has a rule for `{}`, and no program has a distributed or served array of this name",
                       name),
           did_you_mean(name, remote, "rules are for arrays whose blocks all ranks use"));
}

/// `norb` with which a program leaves out the last AO segments, all of which the user gave.
static void warn_of_ranges(const Job& job, std::span<const std::shared_ptr<const Module>> programs, std::ostream& err) {
  const auto ao = job.data.segments.find(IndexKind::ao);
  const auto norb = job.data.ints.find("norb");
  if (!job.stated_values.contains("norb") || ao == job.data.segments.end() || norb == job.data.ints.end() ||
      norb->second < 1 || norb->second >= std::ssize(ao->second))
    return;
  for (const auto& program : programs)
    for (const IntVar& v : program->ints)
      if (v.predefined && v.name == "norb")
        return warn(
            err,
            fmt::format("`norb` is {}, and the job has {} segments of kind ao: the last {} left out", norb->second,
                        ao->second.size(), std::ssize(ao->second) - norb->second == 1 ? "one is" : "ones are"),
            fmt::format("set norb={}, or leave it to the job", ao->second.size()));
}

/// Arrays that the job gives by a name that no program has. Super instructions and plugins read arrays by names of
/// their own: those must look like a slip.
static void warn_of_arrays(const Job& job, std::span<const std::shared_ptr<const Module>> programs, bool plugins,
                           std::ostream& err) {
  std::set<std::string> predefined{"scalar_array_data"};  // which a test helper reads
  std::string lacking;
  bool executes = false;
  for (const auto& program : programs) {
    executes |= !program->specials.empty();
    for (const ArrayRow& a : program->arrays)
      if (a.predefined && predefined.insert(a.name).second && !job.data.gives_array(a.name))
        lacking += (lacking.empty() ? "`" : ", `") + a.name + "`";
  }
  const auto look_at = [&](const std::string& name, const std::string& otherwise) {
    const std::string hint = did_you_mean(name, predefined, otherwise);
    if (!predefined.contains(name) && !hint.empty())
      warn(err, fmt::format("the job gives the array `{}`, and no program has a predefined array of this name", name),
           hint);
  };
  for (const auto& [name, array] : job.data.arrays) {
    if (domain().gives_array(job.data, name) || job.input_arrays.contains(name)) continue;
    look_at(name, plugins || job.data.int_arrays.contains(name)
                      ? std::string()
                      : fmt::format("declare it in a program, `predefined static {}[...]` or `distributed`, or leave "
                                    "it out of the job",
                                    name));
  }
  for (const std::string& name : job.input_arrays)
    look_at(name, !lacking.empty() ? fmt::format("predefined arrays of the programs without data: {}", lacking)
                  : executes
                      ? std::string()
                      : "remove it from `[arrays]`, or declare it in a program: `predefined static`, `distributed` or "
                        "`served`");
}

void warn_of_names(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const Plugins* plugins,
                   std::ostream& err) {
  if (job.legacy) return;
  warn_of_ranges(job, programs, err);
  warn_of_arrays(job, programs, plugins && !plugins->names().empty(), err);
  warn_of_placed_arrays(job, programs, err);
}

void warn_of_order(const Job& job, std::ostream& err) {
  for (const Domain::Remark& remark : domain().remarks_on_arrays(job)) warn(err, remark.text, remark.hint);
}

}  // namespace sial
