#include "runtime/core/model/segment_choice.h"

#include <fmt/format.h>

#include "module_of.h"
#include "runtime/chemistry/files/molecule_in_results.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/job/results.h"
#include "runtime/core/model/earlier_results.h"
#include "runtime/program/job/job_file.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using namespace sial::test;
using Catch::Matchers::Contains;

namespace {

// Products over pairs of virtual and of occupied orbitals, as in coupled cluster: small occupied segments make them
// wait for memory.
const char* const declarations =
    "predefined int baocc\npredefined int eaocc\npredefined int bavirt\npredefined int eavirt\n"
    "moaindex i = baocc:eaocc\nmoaindex j = baocc:eaocc\nmoaindex a = bavirt:eavirt\nmoaindex b = bavirt:eavirt\nmoaindex c = bavirt:eavirt\nmoaindex d = bavirt:eavirt\n"
    "index n = 1:1000\ndistributed v[a,c,b,d]\ndistributed t[c,d,i,j]\ntemp r[a,b,i,j]\nscalar x\n";
std::string statements(const std::string& times) {
  return "do n\nwhere n <= " + times +
         "\npardo a, b\ndo i\ndo j\nr[a,b,i,j] = 0.0\ndo c\ndo d\nget v[a,c,b,d]\nget t[c,d,i,j]\nr[a,b,i,j] += v[a,c,b,d]*t[c,d,i,j]\nenddo d\nenddo c\n"
         "x += r[a,b,i,j]*r[a,b,i,j]\nenddo j\nenddo i\nendpardo a, b\nenddo n";
}

struct Molecules : Folder {
  Molecules() {
    // Four water molecules: 20 occupied orbitals, 76 virtual ones in cc-pVDZ.
    std::string xyz = "12\nwater\n";
    for (int m = 0; m < 4; ++m) xyz += fmt::format("O 0 0 {0}\nH 0 0.757 {0}.586\nH 0 -0.757 {0}.586\n", 4 * m);
    write("waters.xyz", xyz);
    write("p.sialx", "sial p\nendsial p\n");
  }
  Job job(const std::string& more = {}) const {
    Job job = read_job_file(write(
        "job.toml",
        "programs = [\"p.sialx\"]\nmemory = \"8GB\"\n[molecule]\nxyz = \"waters.xyz\"\nbasis = \"cc-pvdz\"\n" + more));
    return job;
  }
};

SegmentChoice choice_of(const Job& job, const std::string& times, const TimeSetting& time = {}) {
  const std::vector<std::shared_ptr<const Module>> programs{
      std::make_shared<const Module>(module_of(declarations, statements(times)))};
  PlanSetting memory;
  memory.memory_per_rank = job.memory_per_rank;
  memory.ranks = time.ranks;
  return choose_segments(job, programs, {}, memory, time);
}

double total(const SegmentChoice& choice) {
  double sum = 0;
  for (const PredictedTime& t : choice.predicted) sum += t.seconds;
  return sum;
}

Job with(Job job, const SegmentChoice& choice) {
  for (const std::string& option : choice.options) apply_segments(job, option);
  return job;
}

}  // namespace

TEST_CASE("a long job has the segments of least predicted time") {
  const Molecules f;
  const Job job = f.job();
  const SegmentChoice choice = choice_of(job, "1000");
  REQUIRE_FALSE(choice.options.empty());
  const Job cut = with(job, choice);
  CHECK(cut.data.segments != job.data.segments);
  CHECK(cut.data.ints.at("eaocc") < job.data.ints.at("eaocc"));  // fewer and larger occupied segments
  // What is predicted is what the model says of the job as it is cut, and less than for the usual segments.
  const SegmentChoice again = choice_of(f.job("[segments]\n" +
                                              [&] {
                                                std::string lines;
                                                for (const std::string& option : choice.options) lines += option + "\n";
                                                return lines;
                                              }()),
                                        "1000");
  CHECK(again.options.empty());
  CHECK(total(again) == Approx(total(choice)));
  CHECK(total(choice) < 0.88 * total(choice_of(f.job("[segments]\nocc_target = 5\nvirt_target = 27\n"), "1000")));
  REQUIRE_FALSE(choice.lines.empty());
  CHECK_THAT(choice.lines.back(), Contains("for the least predicted time"));
  // The same again.
  CHECK(choice_of(job, "1000").options == choice.options);
}

TEST_CASE("short jobs and stated segments are left as they are") {
  const Molecules f;
  const SegmentChoice quick = choice_of(f.job(), "1");
  CHECK(quick.options.empty());
  CHECK(total(quick) > 0);
  CHECK(choice_of(f.job("[segments]\nao_target = 24\nocc_target = 5\nvirt_target = 19\n"), "1000").options.empty());
  const SegmentChoice virt_stated = choice_of(f.job("[segments]\nvirt_target = 19\n"), "1000");
  for (const std::string& option : virt_stated.options) CHECK_THAT(option, !Contains("virt"));
}

TEST_CASE("segments are chosen among those that fit into memory") {
  const Molecules f;
  Job job = f.job();
  const Job free = with(job, choice_of(job, "1000"));
  job.memory_per_rank = std::size_t{100} << 20;
  derive_job_data(job);
  const SegmentChoice choice = choice_of(job, "1000");
  const Job cut = with(job, choice);
  const std::vector<std::shared_ptr<const Module>> programs{
      std::make_shared<const Module>(module_of(declarations, statements("1000")))};
  PlanSetting memory;
  memory.memory_per_rank = job.memory_per_rank;
  CHECK(model_memory(programs, cut.data, {}, memory).fits(job.memory_per_rank));
  CHECK(cut.data.segments != free.data.segments);
}

TEST_CASE("a job that restores results has the segments of those") {
  const Molecules f;
  Job earlier = f.job("[segments]\nao_target = 30\nocc_target = 9\nvirt_target = 23\n");
  {
    ResultsWriter writer(f.path("results.h5"));
    writer.about("test", 0, named_segments(earlier.data));
    write_molecule(writer.file(), chemistry(earlier.data).molecule);
    writer.finish();
  }
  const Job job = f.job("[restore]\nfile = \"results.h5\"\n");
  REQUIRE(job.data.segments != earlier.data.segments);
  const SegmentChoice choice = choice_of(job, "1000");
  CHECK(with(job, choice).data.segments == earlier.data.segments);
  REQUIRE(choice.lines.size() == 1);
  CHECK_THAT(choice.lines[0], Contains("those of `") && Contains("results.h5"));
  // What the user states stays, and of another molecule nothing is taken.
  const Job stated = f.job("[segments]\nocc_target = 5\n[restore]\nfile = \"results.h5\"\n");
  CHECK(with(stated, choice_of(stated, "1000")).data.segments.at(IndexKind::moa) ==
        stated.data.segments.at(IndexKind::moa));
}

TEST_CASE("what a job leaves open follows an earlier run where the stated part is the same") {
  const Molecules f;
  const Job earlier = f.job("[segments]\nao_target = 30\nocc_target = 9\nvirt_target = 23\n");
  const NamedSegments segments = named_segments(earlier.data);
  const auto continued = [&](const std::string& more) {
    Job job = f.job(more);
    for (const std::string& option : domain().earlier_segments(job, segments)) apply_segments(job, option);
    return job.data;
  };
  CHECK(continued("").segments == earlier.data.segments);
  CHECK(continued("").ints == earlier.data.ints);
  CHECK(continued("[segments]\nocc_target = 9\n").segments == earlier.data.segments);
  CHECK(continued("[segments]\nvirt_target = 23\nao_target = 30\n").segments == earlier.data.segments);
  CHECK(continued("[segments]\nbeta_occ_target = 9\n").segments == earlier.data.segments);
  // Equal segments are options too: nothing is searched for then.
  CHECK(domain().earlier_segments(earlier, segments).empty());
  CHECK(domain().earlier_segments(f.job(), named_segments(f.job().data)).size() == 4);
  for (const char* stated : {"occ_target = 5", "virt_target = 13"}) {
    const std::string more = fmt::format("[segments]\n{}\n", stated);
    const JobData data = continued(more), own = f.job(more).data;
    CHECK(data.segments.at(IndexKind::moa) == own.segments.at(IndexKind::moa));
    CHECK(data.segments.at(IndexKind::mob) == own.segments.at(IndexKind::mob));
    CHECK(data.segments.at(IndexKind::ao) == earlier.data.segments.at(IndexKind::ao));
  }
  const JobData beta = continued("[segments]\nbeta_occ_target = 5\n");
  CHECK(beta.segments.at(IndexKind::moa) == earlier.data.segments.at(IndexKind::moa));
  CHECK(beta.segments.at(IndexKind::mob) != earlier.data.segments.at(IndexKind::mob));
  // Another basis has other functions.
  Job other = f.job();
  chemistry(other.data).molecule =
      chemistry(read_job_file(f.write("small.toml",
                                      "programs = [\"p.sialx\"]\n[molecule]\nxyz = \"waters.xyz\"\nbasis = "
                                      "\"sto-3g\"\n"))
                    .data)
          .molecule;
  derive_job_data(other);
  CHECK(domain().earlier_segments(other, segments).empty());
}
