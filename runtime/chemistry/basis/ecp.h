#pragma once
// Effective core potentials of data files of old, which come as flat arrays: clp coefficients, zlp exponents, nlp
// powers; per centre llmax (angular momentum of the local part) and nelecp (electrons replaced); kfirst and klast, the
// terms (from 1) of each part of a centre, local part first, then s, p, ... Centres alike may point at the same terms.

#include <map>
#include <string>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// Empty when the job has no such arrays or no centre has a potential. Throws SialError naming the array that does not
/// fit.
std::vector<Ecp> ecps_of_arrays(const JobData& job);

/// The potentials of a job, however it states them.
std::vector<Ecp> ecps_of_job(const JobData& job);

/// The same arrays of a molecule's potentials; only `nelecp`, of zeros, when it has none. Extents are given where there
/// are two.
struct EcpArrays {
  std::map<std::string, std::vector<double>> reals;
  std::map<std::string, std::vector<std::int32_t>> integers, extents;
};
EcpArrays arrays_of_ecps(const Molecule& molecule);

}  // namespace sial
