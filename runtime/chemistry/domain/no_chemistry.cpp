// In place of chemistry: what needs it is refused, for the rest there is nothing to say.

#include <fmt/format.h>

#include "runtime/chemistry/domain/refusal.h"
#include "runtime/chemistry/domain/sections.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/super/plugins.h"
#include "runtime/core/super/registry.h"

namespace sial {
namespace {

class NoChemistry final : public Domain {
  std::vector<KeySection> sections() const override { return chemistry_sections(); }
  void read_section(std::string_view name, const JobValue& table, const std::string&, Job&) const override {
    throw needs_chemistry(fmt::format("[{}]", name), table.place);
  }
  Job read_data_file(const std::string& path) const override { throw needs_chemistry("a data file of ACES4", path); }
  void write_data_file(const Job&, const std::string&) const override { throw needs_chemistry("`--write-dat`"); }
  void resegment(Job&, std::string_view) const override { throw needs_chemistry("`--resegment`"); }
  void take_guess(Job& job) const override {
    if (job.guess_path != "none") throw needs_chemistry("`--guess`");
  }
  void check_files(const Job& job, Programs) const override {
    if (job.molden_path != "none") throw needs_chemistry("`--molden`");
    if (job.fcidump_path != "none") throw needs_chemistry("`--fcidump`");
    if (job.trexio_path != "none") throw needs_chemistry("`--trexio`");
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
