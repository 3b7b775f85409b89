// In place of chemistry: what needs it is refused, for the rest there is nothing to say.

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/super/plugins.h"
#include "runtime/core/super/registry.h"

namespace sial {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& where = {}) {
  throw InputError(fmt::format("{} needs chemistry, and this sialrun was built without it", what),
                   "leave it out, or build with -DSIALX_CHEMISTRY=ON", where);
}

class NoChemistry final : public Domain {
  std::vector<KeySection> sections() const override {
    return {{"molecule",
             {"xyz", "charge", "multiplicity", "basis", "spherical", "frozen_core", "ecp", "fragments",
              "fragment_charges", "trexio"}},
            {"hamiltonian", {"fcidump", "frozen_core"}}};
  }
  void read_section(std::string_view name, const JobValue& table, const std::string&, Job&) const override {
    refuse(fmt::format("[{}]", name), table.place);
  }
  Job read_data_file(const std::string& path) const override { refuse("a data file of ACES4", path); }
  void write_data_file(const Job&, const std::string&) const override { refuse("`--write-dat`"); }
  void resegment(Job&, std::string_view) const override { refuse("`--resegment`"); }
  void take_guess(Job& job) const override {
    if (job.guess_path != "none") refuse("`--guess`");
  }
  void check_files(const Job& job, Programs) const override {
    if (job.molden_path != "none") refuse("`--molden`");
    if (job.fcidump_path != "none") refuse("`--fcidump`");
    if (job.trexio_path != "none") refuse("`--trexio`");
  }
};

}  // namespace

const Domain& domain() {
  static const NoChemistry none;
  return none;
}

std::int32_t atom_count(const JobData&) { return 0; }

void read_atom(const JobData&, std::int32_t, double*, double*) {}

SuperDemand demand_of(const JobData&, std::string_view) { return {}; }

}  // namespace sial
