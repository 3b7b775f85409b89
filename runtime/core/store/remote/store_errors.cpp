#include "runtime/core/store/remote/store_errors.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

namespace {

const char* verb(RequestKind kind) {
  switch (kind) {
    case RequestKind::get: return "get";
    case RequestKind::put: return "put =";
    case RequestKind::accumulate: return "put +=";
    case RequestKind::fill: return "put = of a scalar";
    case RequestKind::increment: return "put += of a scalar";
    case RequestKind::scale: return "put *= of a scalar";
    default: return "use";
  }
}

const char* verb(BlockUse use) { return use == BlockUse::get ? "get" : use == BlockUse::put ? "put =" : "put +="; }

/// `now` is the verb of the second statement, which stands at `place`.
std::string phase_remedy(const EarlierUse& earlier, const std::string& now, Place place) {
  const std::string rule =
      "between barriers a block is either read by any worker, or added to with put += by any worker, or used by a single worker";
  if (earlier.place == place)
    return fmt::format(
        "iterations of one pardo, or of successive ones without a barrier between them, use the same block: {}; {}",
        now == "get" ? "put a sip_barrier between the pardos"
                     : "add with put +=, or let the pardo run over the block's own indices only",
        rule);
  if (earlier.place.program == place.program && earlier.place.pc > place.pc)
    return "put a sip_barrier between the two statements; where there is one and they belong to successive iterations of a loop, another one at the end of the loop: " +
           rule;
  return "put a sip_barrier between the two statements: " + rule;
}

}  // namespace

void throw_outcome(StoreContext& context, const Outcome& outcome, RequestKind kind, ArrayId id, const BlockIndex& block,
                   std::int64_t size, Place place) {
  const std::string what = block_name(context.arrays.name(id), block);
  switch (outcome.status) {
    case BlockStatus::absent:
      if (kind == RequestKind::scale)
        throw SialError(fmt::format("block {} cannot be scaled: it does not exist", what),
                        fmt::format("put {} = ... first: only put = and put += create a block", what),
                        context.arrays.place(place));
      if (const std::string deleted = context.arrays.deletion(id); !deleted.empty())
        throw SialError(
            fmt::format(
                "block {} does not exist: {}, and the block was not written between that and the last barrier (get at {})",
                what, deleted, context.arrays.place(place)),
            fmt::format(
                "move the `delete` behind the last get of {}, or put {} again, with a sip_barrier between the put and the get",
                context.arrays.name(id), what));
      throw SialError(
          fmt::format("block {} does not exist: it was never written before the last barrier (get at {})", what,
                      context.arrays.place(place)),
          fmt::format(
              "put {} before getting it, with a sip_barrier between the put and the get; where blocks that were never written are zero, declare the array `sparse`",
              what));
    case BlockStatus::wrong_size: {
      const std::string& label = context.arrays.at(id).restored_from;
      throw SialError(
          fmt::format("block {} has {} elements, but this program's declaration of {} gives it {} ({} at {})", what,
                      outcome.size, context.arrays.name(id), size, verb(kind), context.arrays.place(place)),
          label.empty()
              ? "all statements must use the block with the same index ranges"
              : fmt::format(
                    "{} was restored from label \"{}\": both programs must declare the array with the same segments",
                    context.arrays.name(id), label));
    }
    case BlockStatus::phase_conflict: {
      const EarlierUse& e = outcome.earlier;
      throw SialError(fmt::format("block {}: {} by rank {} at {} and {} by rank {} at {} in the same phase", what,
                                  verb(e.use), e.rank, context.arrays.place(e.place), verb(kind),
                                  context.transport.rank(), context.arrays.place(place)),
                      phase_remedy(e, verb(kind), place));
    }
    case BlockStatus::ok: break;
  }
  SIAL_CHECK(false, "outcome {} of block {}", static_cast<int>(outcome.status), what);
}

void throw_not_fetched(StoreContext& context, ArrayId id, const BlockIndex& block, Place place) {
  const std::string what = block_name(context.arrays.name(id), block);
  if (const std::string deleted = context.arrays.deletion(id); !deleted.empty())
    throw SialError(
        fmt::format("block {} was not fetched in this phase, after {}", what, deleted),
        fmt::format("a delete drops all fetched blocks: move it behind the last use of {}, or put {} again and get it",
                    context.arrays.name(id), what),
        context.arrays.place(place));
  throw SialError(
      fmt::format("block {} was not fetched in this phase", what),
      fmt::format("get {} before using it (request, for served arrays); a barrier drops all fetched blocks", what),
      context.arrays.place(place));
}

void check_finite(StoreContext& context, ArrayId id, const BlockIndex& block, std::int64_t size, const double* data,
                  Place place) {
  for (std::int64_t i = 0; i < size; ++i)
    if (!std::isfinite(data[i]))
      throw SialError(
          fmt::format("{} put into block {} at {} (element {} of {})", std::isnan(data[i]) ? "NaN" : "infinity",
                      block_name(context.arrays.name(id), block), context.arrays.place(place), i + 1, size),
          "look for a division by zero, an undefined element or a missing assignment in what was put",
          context.arrays.place(place));
}

}  // namespace sial
