#include "runtime/chemistry/schema/atomic_result.h"

#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/json.h"

namespace sial {
namespace {

Json provenance_of(const SchemaProvenance& p) {
  return {{"creator", "sialx"}, {"version", p.version}, {"routine", "sialrun --qcschema"}, {"ranks", p.ranks}};
}

/// Text that is no UTF-8 would make no JSON.
std::string dumped(const Json& json) { return json_text(json) + "\n"; }

/// Properties of the schema, and the same by the names of QCVariables.
class Properties {
 public:
  Properties(const AtomicInput& input, const std::map<std::string, double>& scalars)
      : input_(input), scalars_(scalars) {}

  void fill(const std::vector<Vector3>* gradient) {
    const Molecule& m = chemistry(input_.job.data).molecule;
    const auto [alpha, beta] = electron_counts(m);
    json["calcinfo_natom"] = m.atoms.size();
    json["calcinfo_nbasis"] = m.n_basis();
    json["calcinfo_nmo"] = m.n_basis();
    json["calcinfo_nalpha"] = alpha;
    json["calcinfo_nbeta"] = beta;
    add("nuclear_repulsion_energy", "NUCLEAR REPULSION ENERGY", scalar("nuclear_energy"));
    const double scf = required("scf_energy");
    add("scf_total_energy", "HF TOTAL ENERGY", scf);
    variables["SCF TOTAL ENERGY"] = variables["CURRENT REFERENCE ENERGY"] = scf;
    if (const auto x = scalar("dipole_x"), y = scalar("dipole_y"), z = scalar("dipole_z"); x && y && z)
      json["scf_dipole_moment"] = variables["SCF DIPOLE"] = {*x, *y, *z};
    const std::string& method = input_.method->name;
    std::string upper = "HF";
    if (method == "mp2") {
      upper = "MP2";
      correlation("mp2", upper, scf, required("mp2_energy"));
      if (const auto aa = scalar("mp2_aa"), ab = scalar("mp2_ab"), bb = scalar("mp2_bb"); aa && ab && bb) {
        add("mp2_same_spin_correlation_energy", "MP2 SAME-SPIN CORRELATION ENERGY", *aa + *bb);
        add("mp2_opposite_spin_correlation_energy", "MP2 OPPOSITE-SPIN CORRELATION ENERGY", ab);
      }
    } else if (method != "hf") {
      upper = "CCSD";
      const double ccsd = required("ccsd_energy");
      correlation("ccsd", upper, scf, ccsd);
      if (method == "ccsd(t)") {
        upper = "CCSD(T)";
        const double triples = required("t_energy");
        correlation("ccsd_prt_pr", upper, scf, ccsd + triples);
        variables["(T) CORRECTION ENERGY"] = triples;
      }
    }
    add("return_energy", "CURRENT ENERGY", required(input_.method->energy));
    if (!gradient) return;
    Json values = Json::array();
    for (const Vector3& row : *gradient)
      for (const double x : row) values.push_back(x);
    json["return_gradient"] = values;
    if (method == "hf") json["scf_total_gradient"] = values;
    variables["CURRENT GRADIENT"] = variables[upper + " TOTAL GRADIENT"] = values;
  }

  Json json = Json::object(), variables = Json::object();

 private:
  std::optional<double> scalar(const std::string& name) const {
    const auto found = scalars_.find(name);
    return found == scalars_.end() ? std::nullopt : std::optional(found->second);
  }

  double required(const std::string& name) const {
    const auto value = scalar(name);
    if (!value || !std::isfinite(*value))
      throw SialError(fmt::format("the programs left {} `{}`", value ? "no finite" : "no scalar", name),
                      "are the programs in SIAL_EXAMPLES_PATH those of this version?");
    return *value;
  }

  void add(const char* name, const char* variable, std::optional<double> value) {
    if (!value) return;
    json[name] = *value;
    variables[variable] = *value;
  }

  void correlation(const std::string& prefix, const std::string& upper, double scf, double energy) {
    json[prefix + "_correlation_energy"] = variables[upper + " CORRELATION ENERGY"] = energy;
    json[prefix + "_total_energy"] = variables[upper + " TOTAL ENERGY"] = scf + energy;
    variables["CURRENT CORRELATION ENERGY"] = energy;
  }

  const AtomicInput& input_;
  const std::map<std::string, double>& scalars_;
};

/// The schema's and QCEngine's words for what went wrong.
const char* error_type(int code, const std::string& message) {
  if (message.find("did not converge") != std::string::npos || message.find("no stable solution") != std::string::npos)
    return "convergence_error";
  switch (code) {
    case exit_input_error: return "input_error";
    case exit_environment_error: return "random_error";
    default: return "unknown_error";
  }
}

}  // namespace

std::string atomic_result(const AtomicInput& input, const std::map<std::string, double>& scalars,
                          const std::vector<Vector3>* gradient, const std::string& printed, const std::string& messages,
                          const SchemaProvenance& provenance) {
  Properties properties(input, scalars);
  properties.fill(gradient);
  Json result = input.given;
  if (input.version == 2) {
    result = {{"input_data", input.given}, {"molecule", input.given["molecule"]}};
    if (input.given.contains("id")) result["id"] = input.given["id"];
  }
  result["schema_name"] = input.version == 1 ? "qcschema_output" : "qcschema_atomic_result";
  result["schema_version"] = input.version;
  result["properties"] = properties.json;
  switch (input.driver) {
    case SchemaDriver::energy: result["return_result"] = properties.json["return_energy"]; break;
    case SchemaDriver::gradient: result["return_result"] = properties.json["return_gradient"]; break;
    case SchemaDriver::properties: result["return_result"] = properties.json; break;
  }
  result["success"] = true;
  if (input.keeps_output) result["stdout"] = printed;
  if (!messages.empty()) result["stderr"] = messages;
  result["provenance"] = provenance_of(provenance);
  if (!result.contains("extras") || !result["extras"].is_object()) result["extras"] = Json::object();
  result["extras"]["qcvars"] = properties.variables;
  return dumped(result);
}

std::string failed_operation(const AtomicInput& input, int code, const std::string& message,
                             const SchemaProvenance& provenance) {
  Json failed = {{"success", false},
                 {"error", {{"error_type", error_type(code, message)}, {"error_message", message}}},
                 {"input_data", input.given},
                 {"extras", {{"provenance", provenance_of(provenance)}}}};
  if (input.version == 2) {
    failed["schema_name"] = "qcschema_failed_operation";
    failed["schema_version"] = 2;
  }
  if (input.given.is_object() && input.given.contains("id")) failed["id"] = input.given["id"];
  return dumped(failed);
}

}  // namespace sial
