#pragma once
// Which parts of a job belong to which fragment. Owners (fragments count from 1) come from integer arrays of the job:
//
//   w_frag_ao                   one owner per AO segment
//   w_frag_occa, w_frag_virta   one per occupied (from baocc on) and virtual (from bavirt on) alpha MO segment; or, with as many
//   w_frag_occb, w_frag_virtb   entries as there are segments of the kind, one per segment of the whole table; beta likewise
//   w_frag_atom                 one per atom; when absent, an atom belongs to the owner of the AO segments its functions lie in

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/super/registry.h"

namespace sial {

/// The numbers of frag_index_range.
enum class FragmentRange { ao = 1, alpha_occupied = 6, alpha_virtual = 7, beta_occupied = 9, beta_virtual = 10 };

class Fragments {
 public:
  /// Throws SialError when the job has no fragments.
  explicit Fragments(SuperContext& context);

  std::int32_t count() const { return count_; }
  /// A fragment's number from a scalar argument. Throws SialError when there is none of it.
  std::int32_t number(const SuperArg& arg, int position) const;

  /// Owners by segment: (number of the first segment described, owners from there on).
  std::pair<std::int32_t, std::vector<std::int32_t>> owners(FragmentRange range) const;
  /// Numbers of all segments of a kind that belong to a fragment, ascending.
  std::vector<std::int32_t> segments_of(IndexKind kind, std::int32_t fragment) const;
  /// Owner of each atom.
  const std::vector<std::int32_t>& atom_owners() const { return atom_owners_; }

  /// The fragment as a molecule of its own, functions in the order of its AO segments.
  Molecule alone(std::int32_t fragment) const;
  /// Alpha and beta electrons: the extents of its occupied segments; a neutral fragment of lowest spin without those arrays.
  std::pair<std::int32_t, std::int32_t> electrons(std::int32_t fragment) const;

 private:
  const std::vector<std::int32_t>* array(const std::string& name) const;
  std::int32_t required_int(const char* name) const;

  const JobData& job_;
  std::int32_t count_ = 0;
  std::vector<std::int32_t> atom_owners_;
};

}  // namespace sial
