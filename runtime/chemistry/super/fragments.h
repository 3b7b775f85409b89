#pragma once
// Which parts of a job belong to which fragment. Owners (fragments count from 1) come from integer arrays of the job:
//
//   w_frag_ao                    one owner per AO segment
//   w_frag_aocc, w_frag_avirt    one per occupied (from segment 1, or from baocc on) and virtual (from bavirt on) alpha
//                                MO segment; or, with as many entries as there are segments of the kind, one per
//                                segment of the whole table
//   w_frag_bocc, w_frag_bvirt    beta likewise
//   w_frag_atom                  one per atom; when absent, an atom belongs to the owner of the AO segments its
//                                functions lie in
//
// Jobs written for early versions call the MO arrays w_frag_occa, w_frag_virta, w_frag_occb, w_frag_virtb.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/super/registry.h"

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

  /// First and last segment of a fragment, counted from 1 within its range; (1, 0) where it has none. Throws SialError
  /// when segments of other fragments lie between them.
  std::pair<std::int32_t, std::int32_t> positions(FragmentRange range, std::int32_t fragment) const;
  /// Numbers of all segments of a kind that belong to a fragment, ascending, with those of frozen orbitals.
  std::vector<std::int32_t> segments_of(IndexKind kind, std::int32_t fragment) const;
  /// Owner of each atom.
  const std::vector<std::int32_t>& atom_owners() const { return atom_owners_; }

  /// Whether a job names the owners of occupied and virtual orbitals of an MO kind.
  static bool own_orbitals(const JobData& job, IndexKind kind);
  /// The owner of each orbital of an MO kind; 0 where none is named.
  std::vector<std::int32_t> orbital_owners(IndexKind kind) const;
  /// Number of its basis functions.
  std::int64_t functions(std::int32_t fragment) const;
  /// The fragment as a molecule of its own, functions in the order of its AO segments.
  Molecule alone(std::int32_t fragment) const;
  /// Alpha and beta electrons: the extents of its occupied segments; a neutral fragment of lowest spin without those
  /// arrays.
  std::pair<std::int32_t, std::int32_t> electrons(std::int32_t fragment) const;

 private:
  /// Owners by segment: number of the first segment described, owners from there on.
  struct Owners {
    std::int32_t first = 1;
    std::vector<std::int32_t> list;
  };

  Owners owners(FragmentRange range) const;
  Owners owners_with_frozen(FragmentRange range) const;
  static bool has_owners(const JobData& job, FragmentRange range);
  const std::vector<std::int32_t>* array(const std::string& name) const;
  std::int32_t required_int(const char* name) const;

  const JobData& job_;
  std::int32_t count_ = 0;
  std::vector<std::int32_t> atom_owners_;
};

}  // namespace sial
