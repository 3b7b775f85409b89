#pragma once
// The seam to a science: what it reads of a job, what follows from that, and the files that it leaves. This class is no
// science at all, and has the empty answers; a science derives from it and says more. The one of a program is decided
// when it is linked: by who defines domain(). Constants; everything that is known of a job is in it.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/job/job.h"
#include "runtime/core/job/job_value.h"

namespace sial {

struct Module;
class Hdf5File;

/// Names of the ints and scalars that every job has, and those that follow from what the job is about: super
/// instructions take some of them by name. They may be given, though no program asks for them.
struct UsualValues {
  std::set<std::string, std::less<>> settings, of_system;
};

/// A range whose segments are to be chosen.
struct AutomaticRange {
  std::string key;
  const char* what;
  std::int32_t elements = 0, usual = 0, least = 0;  // in all, in the largest of the usual segments; worth a try
};

class Domain {
 public:
  using Programs = std::span<const std::shared_ptr<const Module>>;
  using Statics = std::map<std::string, DataArray>;  // saved, by label
  struct Description {
    std::string system, programs, settings;
  };
  struct Remark {
    std::string text, hint;
  };
  struct Property {
    std::string name;
    std::vector<double> values;
    std::string units;
  };

  virtual ~Domain() = default;

  // Job files. Keys of sections are checked before these are read.
  virtual std::vector<KeySection> sections() const { return {}; }
  virtual void read_section(std::string_view, const JobValue&, const std::string& /*folder*/, Job&) const {}
  /// From what an array of this name follows, where the job may not give it; else empty.
  virtual std::string source_of_array(const JobData&, std::string_view) const { return {}; }

  // Initial-data files, which state a whole job; the job's programs are left empty.
  virtual Job read_data_file(const std::string& path) const = 0;
  virtual void write_data_file(const Job&, const std::string& path) const = 0;
  virtual std::vector<std::string> find_programs(const Job&, const std::vector<std::string>& /*folders*/) const {
    return {};
  }
  virtual bool is_in_data_file(const Job&, const std::string& /*value*/) const { return false; }
  /// The option `--resegment`.
  virtual void resegment(Job&, std::string_view text) const = 0;

  // Facts that follow from the subject of the job.
  virtual bool has_system(const JobData&) const { return false; }
  /// Values, segments and arrays, but for segments that are stated as lists.
  virtual void derive(Job&) const {}
  virtual const UsualValues& usual_values() const {
    static const UsualValues values{{}, {"norb"}};
    return values;
  }
  virtual bool gives_array(const JobData&, std::string_view) const { return false; }
  /// Ranges for which the tables of least predicted time are sought; none where the usual ones stay.
  virtual std::vector<AutomaticRange> automatic_ranges(const Job&) const { return {}; }
  /// Options of `--segments` that give the job the segments of an earlier run, for the kinds that the job leaves to us.
  /// None where these do not fit the job.
  virtual std::vector<std::string> earlier_segments(const Job&, const NamedSegments& /*earlier*/) const { return {}; }
  /// The option `--guess`.
  virtual void take_guess(Job&) const {}

  // The description for users.
  virtual Description describe(const Job&, const std::vector<std::string>& /*folders*/) const { return {}; }
  virtual std::vector<std::string> warnings(const JobData&) const { return {}; }
  virtual std::vector<Remark> remarks_on_arrays(const Job&) const { return {}; }

  // Results, checkpoints, and files for other programs.
  virtual std::map<std::string, std::string> identity(const JobData&) const { return {}; }
  virtual void write_system(Hdf5File&, const JobData&) const {}
  /// In what results are those of another system; else empty.
  virtual std::string difference(const Hdf5File&, const JobData&) const { return {}; }
  virtual std::vector<Property> properties(const Job&, const Statics&) const { return {}; }
  /// Before the programs run; throws SialError where these files cannot be written then.
  virtual void check_files(const Job&, Programs) const {}
  /// On rank 0. An error where only one file found no memory: the others of a job that is done are written all the
  /// same.
  virtual std::optional<EnvironmentError> write_files(const Job&, const Statics&, bool /*has_checkpoint*/) const {
    return {};
  }
};

const Domain& domain();

}  // namespace sial
