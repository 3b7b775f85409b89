#pragma once
// What programs ask of chemistry (domain.h), answered by its components. The methods are in several files, by what they
// are about.

#include "runtime/core/job/domain.h"

namespace sial {

class ChemistryDomain final : public Domain {
 public:
  std::vector<KeySection> sections() const override;
  void read_section(std::string_view name, const JobValue& table, const std::string& folder, Job& job) const override;
  std::string source_of_array(const JobData& data, std::string_view name) const override;
  Job read_data_file(const std::string& path) const override;
  void write_data_file(const Job& job, const std::string& path) const override;
  std::vector<std::string> find_programs(const Job& job, const std::vector<std::string>& folders) const override;
  bool is_in_data_file(const Job& job, const std::string& value) const override;
  void resegment(Job& job, std::string_view text) const override;
  bool has_system(const JobData& data) const override;
  void derive(Job& job) const override;
  const UsualValues& usual_values() const override;
  bool gives_array(const JobData& data, std::string_view name) const override;
  std::vector<AutomaticRange> automatic_ranges(const Job& job) const override;
  std::vector<std::string> earlier_segments(const Job& job, const NamedSegments& earlier) const override;
  void take_guess(Job& job) const override;
  Description describe(const Job& job, const std::vector<std::string>& folders) const override;
  std::vector<std::string> warnings(const JobData& data) const override;
  std::vector<Remark> remarks_on_arrays(const Job& job) const override;
  std::map<std::string, std::string> identity(const JobData& data) const override;
  void write_system(Hdf5File& file, const JobData& data) const override;
  std::string difference(const Hdf5File& file, const JobData& data) const override;
  std::vector<Property> properties(const Job& job, const Statics& saved) const override;
  void check_files(const Job& job, Programs programs) const override;
  std::optional<EnvironmentError> write_files(const Job& job, const Statics& saved, bool has_checkpoint) const override;
};

}  // namespace sial
