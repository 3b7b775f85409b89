#pragma once
// The accesses of a node's ranks to the blocks that lie on the node, in the order in which they happen, as predicted
// from a program: what movement between memory and a tier depends on. 16 bytes an access; beyond a
// limit the sequence is not known. A value; nothing is played through here.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sial {

enum class AccessKind : std::uint8_t {
  read,
  write,   // the whole block, whatever it held: put =, a fill
  update,  // from what it held, if there was anything: put +=, an increment, a scale
  dies,    // nobody will ask for what it holds: deleted, or the program is over
};

struct BlockAccess {
  std::uint32_t block = 0;
  std::int32_t place = 0;   // instruction
  std::uint32_t group = 0;  // what a rank accesses in a group is in use until its next group
  std::uint16_t rank = 0;   // of the node
  AccessKind kind = AccessKind::read;
};
static_assert(sizeof(BlockAccess) == 16);

class AccessSequence {
 public:
  static constexpr std::size_t max_accesses = 50'000'000;
  explicit AccessSequence(std::size_t limit = max_accesses) : limit_(limit) {}

  struct Block {
    std::int64_t bytes = 0;  // in memory
    std::uint32_t array = 0;
  };

  std::uint32_t add_array(std::string name);
  /// A block is known by one number from its first write until the end, also after it died.
  std::uint32_t add_block(std::uint32_t array, std::int64_t bytes);

  /// From here on memory may have another size: a program begins.
  void begin_part() { parts_.push_back(accesses_.size()); }
  /// All ranks were at a barrier: nothing is in use.
  void begin_phase();
  /// A rank begins an iteration, or a statement outside of loops.
  void begin_group(std::uint16_t rank);
  /// Within a group, only what changes something is kept.
  void access(std::uint32_t block, AccessKind kind, std::int32_t place);

  /// False beyond the limit: the rest is missing.
  bool known() const { return known_; }
  std::span<const BlockAccess> accesses() const { return accesses_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<std::string>& arrays() const { return arrays_; }
  /// Numbers of the accesses with which phases begin; increasing.
  const std::vector<std::size_t>& phases() const { return phases_; }
  /// The same for parts.
  const std::vector<std::size_t>& parts() const { return parts_; }
  std::size_t ranks() const { return ranks_; }

 private:
  /// The uses of a block by the present group.
  struct Done {
    std::uint32_t group = 0;
    bool changed = false;
  };
  bool adds_nothing(std::uint32_t block, AccessKind kind);

  std::size_t limit_;
  bool known_ = true;
  std::vector<BlockAccess> accesses_;
  std::vector<Block> blocks_;
  std::vector<std::string> arrays_;
  std::vector<std::size_t> phases_, parts_;
  std::vector<Done> done_;  // per block
  std::uint32_t group_ = 0;
  std::uint16_t rank_ = 0;
  std::size_t ranks_ = 1;
};

}  // namespace sial
