#pragma once
// Cutting the segments of a job that came from an initial-data file anew: shells stay whole, frozen orbitals keep their
// segments, and everything the file says about segments follows (norb, baocc .. ebvirt, ao_seg_ranges, mo_seg_ranges
// ...).

#include <map>
#include <string>
#include <string_view>

#include "runtime/core/job/job.h"

namespace sial {

/// Keys are those of [segments]: a list of sizes, or pieces of about `target`. `occ` and `virt` cut the active orbitals
/// of both spins (`beta_occ`, `beta_virt` the beta ones alone). Cutting again with the same requests changes nothing.
/// Throws SialError.
void resegment(JobData& data, const std::map<std::string, SegmentRequest>& requests);

/// `--resegment ao=8,occ=3,virt=4`: target sizes, for a job of any origin. Throws SialError.
void apply_resegment(Job& job, std::string_view text);

}  // namespace sial
