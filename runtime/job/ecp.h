#pragma once
// Effective core potentials of data files of old, which come as flat arrays: clp coefficients, zlp exponents, nlp powers; per centre
// llmax (angular momentum of the local part) and nelecp (electrons replaced); kfirst and klast, the terms (from 1) of each part of a
// centre, local part first, then s, p, ...

#include <vector>

#include "runtime/job/job_data.h"

namespace sial {

/// Empty when the job has no such arrays or no centre has a potential. Throws SialError naming the array that does not fit.
std::vector<Ecp> ecps_of_arrays(const JobData& job);

}  // namespace sial
